// The certified OpenID provider `oidc-provider` on loopback, with one client and people who need no password.
// node certified_provider.mjs <port> <public URL of the product>
import { Provider } from "oidc-provider";

const [port, product] = process.argv.slice(2);
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    {
      client_id: "aos",
      client_secret: "a secret that only the two know",
      redirect_uris: [`${product}/api/auth/oidc/corp/callback`],
      backchannel_logout_uri: `${product}/api/auth/oidc/corp/backchannel-logout`,
      backchannel_logout_session_required: true,
    },
  ],
  claims: { openid: ["sub", "sid"], email: ["email", "email_verified"], profile: ["name", "groups"] },
  features: { backchannelLogout: { enabled: true } },
  fetch: (url, options) => fetch(url, { ...options, dispatcher: undefined }), // which reaches loopback, too
  pkce: { required: () => true },
  cookies: { keys: ["some", "keys"] },
  findAccount: (_, id) => ({
    accountId: id,
    claims: async () => ({
      sub: id,
      email: `${id}@corp.example`,
      email_verified: true,
      groups: ["staff", "finance-west"],
    }),
  }),
});
provider.listen(Number(port), "127.0.0.1", () => console.log("listening"));
