--
-- PostgreSQL database dump
--


-- Dumped from database version 18.6
-- Dumped by pg_dump version 18.6


--
-- Data for Name: tenants; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.tenants VALUES
	('b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', NULL, 'tenant-b5af69e3', '2026-11-29 11:34:31.895919+00', NULL),
	('a8cb1282-ac33-4289-b63b-9435891c2d76', NULL, 'tenant-7d91c3d3', '2026-11-29 11:34:33.438499+00', NULL),
	('a3aa9f0c-10ad-4e90-a3e6-11d03a346754', NULL, 'tenant-4a22c960', '2026-11-29 11:34:37.716378+00', NULL),
	('6f335f87-a96a-4844-86f0-75d7a3fe97c1', NULL, 'office1', '2026-11-29 11:34:37.796709+00', NULL);


--
-- Data for Name: workspaces; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.workspaces VALUES
	('551899ca-9b5a-4f09-bde0-41de92ea58f3', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '7940236e0dbe471986a091477bc07504', 1, NULL, 13, '2026-11-29 11:34:31.895919+00', 'auto', 1795952073240896, NULL, '{english}', NULL),
	('201f1769-d30d-4ae8-8fbb-737d52c3077b', 'a8cb1282-ac33-4289-b63b-9435891c2d76', 'ef299a6bb4ac404f8bb5e83dab610d99', 1, NULL, 10, '2026-11-29 11:34:33.438499+00', 'auto', 1795952077661062, NULL, '{english}', NULL),
	('d8dcc6e1-7e8e-4609-8636-89740a7a7562', 'a3aa9f0c-10ad-4e90-a3e6-11d03a346754', '3f6a78207e3040e2b628267ddf72f3e6', NULL, NULL, 0, '2026-11-29 11:34:37.716378+00', 'auto', 1795952077718907, NULL, '{}', NULL),
	('2159bbfc-7868-40fd-b187-a0346f380849', '6f335f87-a96a-4844-86f0-75d7a3fe97c1', 'w', NULL, NULL, 0, '2026-11-29 11:34:37.796709+00', 'auto', 1795952077799273, NULL, '{}', NULL);


--
-- Data for Name: agents; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.agents VALUES
	('2fec5aaf-a7d1-469b-8775-b9617c1e84eb', 'a3aa9f0c-10ad-4e90-a3e6-11d03a346754', 'd8dcc6e1-7e8e-4609-8636-89740a7a7562', 'keeper', '', '', false, '{}', '2026-11-29 11:34:37.728698+00', '2026-11-29 11:34:37.728698+00', false, '{}');


--
-- Data for Name: academy_enrolments; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: academy_reports; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: agent_skills; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: answers; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: answer_citations; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: users; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.users VALUES
	('300f7849-56d9-4e9d-a181-98b26ce8d56b', '6f335f87-a96a-4844-86f0-75d7a3fe97c1', 'viewer@office1.example', '$argon2id$v=19$m=8,t=1,p=1$yvMxUV0EsSGHHsVKjBlYRg$RBfYdz5L0LdjfOpo4v6T7OH9I3b4F30J5+zjmFKznK4', false, 'viewer', false, '2026-11-29 11:34:37.796709+00', 0, NULL, NULL),
	('9fd61808-f995-4897-a1f6-aa6a194e61eb', '6f335f87-a96a-4844-86f0-75d7a3fe97c1', 'developer@office1.example', '$argon2id$v=19$m=8,t=1,p=1$yvMxUV0EsSGHHsVKjBlYRg$RBfYdz5L0LdjfOpo4v6T7OH9I3b4F30J5+zjmFKznK4', false, 'developer', false, '2026-11-29 11:34:37.796709+00', 0, NULL, NULL),
	('cfcc8623-601d-4683-8ecc-258412524564', '6f335f87-a96a-4844-86f0-75d7a3fe97c1', 'operator@office1.example', '$argon2id$v=19$m=8,t=1,p=1$yvMxUV0EsSGHHsVKjBlYRg$RBfYdz5L0LdjfOpo4v6T7OH9I3b4F30J5+zjmFKznK4', false, 'operator', false, '2026-11-29 11:34:37.796709+00', 0, NULL, NULL),
	('5c1df573-541b-46bb-8a6e-5cdd7aa18588', '6f335f87-a96a-4844-86f0-75d7a3fe97c1', 'admin@office1.example', '$argon2id$v=19$m=8,t=1,p=1$yvMxUV0EsSGHHsVKjBlYRg$RBfYdz5L0LdjfOpo4v6T7OH9I3b4F30J5+zjmFKznK4', false, 'admin', false, '2026-11-29 11:34:37.796709+00', 0, NULL, NULL);


--
-- Data for Name: api_keys; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: sessions; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.sessions VALUES
	('ed3857b1-f914-451c-87a1-d62b3f78fd71', 'a3aa9f0c-10ad-4e90-a3e6-11d03a346754', 'd8dcc6e1-7e8e-4609-8636-89740a7a7562', '2fec5aaf-a7d1-469b-8775-b9617c1e84eb', 'afd81e94-7796-4fd9-a029-018c8053f4e2', '', '2026-11-29 11:34:37.728698+00', NULL, 'open', '2026-11-29 11:34:37.728698+00');


--
-- Data for Name: runs; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.runs VALUES
	('8cb2ce39-0a70-40b8-9af0-8692c8e4f419', 'a3aa9f0c-10ad-4e90-a3e6-11d03a346754', 'd8dcc6e1-7e8e-4609-8636-89740a7a7562', 'ed3857b1-f914-451c-87a1-d62b3f78fd71', '2fec5aaf-a7d1-469b-8775-b9617c1e84eb', 'afd81e94-7796-4fd9-a029-018c8053f4e2', NULL, 0, 'general', 'waiting', true, '{"run": "8cb2ce39-0a70-40b8-9af0-8692c8e4f419", "path": "general", "agent": {"id": "2fec5aaf-a7d1-469b-8775-b9617c1e84eb", "name": "keeper", "config": {}, "description": "", "system_prompt": "Be careful."}, "depth": 0, "scope": {"role": "operator", "user": "afd81e94-7796-4fd9-a029-018c8053f4e2", "tenant": "a3aa9f0c-10ad-4e90-a3e6-11d03a346754", "workspace": "d8dcc6e1-7e8e-4609-8636-89740a7a7562", "credential": null, "principals": ["user:ann@example.org", "role:operator"]}, "memory": "", "history": [], "message": "d", "options": {}, "session": "ed3857b1-f914-451c-87a1-d62b3f78fd71", "ancestors": [], "base_tools": ["search_knowledge", "semantic_search", "search_graph", "query_tables", "calculator", "get_time", "http_get", "delegate", "request_user_input"]}', 5069196227773997148, NULL, 1, NULL, 0, false, NULL, NULL, 10, 5, 0.25, '2026-11-29 11:34:37.738865+00', '2026-11-29 11:34:37.7657+00', NULL, false),
	('4f331d10-bc54-496e-87f0-cc6477bbfa90', 'a3aa9f0c-10ad-4e90-a3e6-11d03a346754', 'd8dcc6e1-7e8e-4609-8636-89740a7a7562', 'ed3857b1-f914-451c-87a1-d62b3f78fd71', '2fec5aaf-a7d1-469b-8775-b9617c1e84eb', 'afd81e94-7796-4fd9-a029-018c8053f4e2', NULL, 0, 'general', 'waiting', true, '{"run": "4f331d10-bc54-496e-87f0-cc6477bbfa90", "path": "general", "agent": {"id": "2fec5aaf-a7d1-469b-8775-b9617c1e84eb", "name": "keeper", "config": {}, "description": "", "system_prompt": "Be careful."}, "depth": 0, "scope": {"role": "operator", "user": "afd81e94-7796-4fd9-a029-018c8053f4e2", "tenant": "a3aa9f0c-10ad-4e90-a3e6-11d03a346754", "workspace": "d8dcc6e1-7e8e-4609-8636-89740a7a7562", "credential": null, "principals": ["user:ann@example.org", "role:operator"]}, "memory": "", "history": [], "message": "b", "options": {}, "session": "ed3857b1-f914-451c-87a1-d62b3f78fd71", "ancestors": [], "base_tools": ["search_knowledge", "semantic_search", "search_graph", "query_tables", "calculator", "get_time", "http_get", "delegate", "request_user_input"]}', 2853468555262436535, NULL, 1, NULL, 0, false, NULL, NULL, 10, 5, 0.25, '2026-11-29 11:34:37.735536+00', '2026-11-29 11:34:37.7407+00', NULL, false),
	('bce0724e-d942-4b74-a8db-a6404adb17fe', 'a3aa9f0c-10ad-4e90-a3e6-11d03a346754', 'd8dcc6e1-7e8e-4609-8636-89740a7a7562', 'ed3857b1-f914-451c-87a1-d62b3f78fd71', '2fec5aaf-a7d1-469b-8775-b9617c1e84eb', 'afd81e94-7796-4fd9-a029-018c8053f4e2', NULL, 0, 'general', 'waiting', true, '{"run": "bce0724e-d942-4b74-a8db-a6404adb17fe", "path": "general", "agent": {"id": "2fec5aaf-a7d1-469b-8775-b9617c1e84eb", "name": "keeper", "config": {}, "description": "", "system_prompt": "Be careful."}, "depth": 0, "scope": {"role": "operator", "user": "afd81e94-7796-4fd9-a029-018c8053f4e2", "tenant": "a3aa9f0c-10ad-4e90-a3e6-11d03a346754", "workspace": "d8dcc6e1-7e8e-4609-8636-89740a7a7562", "credential": null, "principals": ["user:ann@example.org", "role:operator"]}, "memory": "", "history": [], "message": "c", "options": {}, "session": "ed3857b1-f914-451c-87a1-d62b3f78fd71", "ancestors": [], "base_tools": ["search_knowledge", "semantic_search", "search_graph", "query_tables", "calculator", "get_time", "http_get", "delegate", "request_user_input"]}', 6805001878445827514, NULL, 1, NULL, 0, false, NULL, NULL, 10, 5, 0.25, '2026-11-29 11:34:37.73757+00', '2026-11-29 11:34:37.75521+00', NULL, false);


--
-- Data for Name: approvals; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.approvals VALUES
	('972b3e19-af23-5d5b-b1d2-38a3bbef400d', 'a3aa9f0c-10ad-4e90-a3e6-11d03a346754', 'd8dcc6e1-7e8e-4609-8636-89740a7a7562', '4f331d10-bc54-496e-87f0-cc6477bbfa90', 2, 'ed3857b1-f914-451c-87a1-d62b3f78fd71', '2fec5aaf-a7d1-469b-8775-b9617c1e84eb', 'afd81e94-7796-4fd9-a029-018c8053f4e2', 'approval', 'act', '{"to": "b"}', 'ba32a0f0a846ee8d516759bfe15ce20b1dc9c868653016502ed04bfd9d088ce7', 'it changes things', 'pending', 'none', NULL, NULL, NULL, '', '2026-11-29 11:34:37.751224+00', '2026-11-30 11:34:37.748336+00', NULL, NULL),
	('3db8474f-e828-5e19-a307-d3b2fd45ea08', 'a3aa9f0c-10ad-4e90-a3e6-11d03a346754', 'd8dcc6e1-7e8e-4609-8636-89740a7a7562', 'bce0724e-d942-4b74-a8db-a6404adb17fe', 2, 'ed3857b1-f914-451c-87a1-d62b3f78fd71', '2fec5aaf-a7d1-469b-8775-b9617c1e84eb', 'afd81e94-7796-4fd9-a029-018c8053f4e2', 'approval', 'act', '{"to": "c"}', '68357a739a1b9a395ccfcf53b914381e4241d1c62f21ce201dd9d2334a009abd', 'it changes things', 'pending', 'none', NULL, NULL, NULL, '', '2026-11-29 11:34:37.763399+00', '2026-11-30 11:34:37.760925+00', NULL, NULL),
	('3628337f-0e86-5911-89a3-0a597a54394b', 'a3aa9f0c-10ad-4e90-a3e6-11d03a346754', 'd8dcc6e1-7e8e-4609-8636-89740a7a7562', '8cb2ce39-0a70-40b8-9af0-8692c8e4f419', 2, 'ed3857b1-f914-451c-87a1-d62b3f78fd71', '2fec5aaf-a7d1-469b-8775-b9617c1e84eb', 'afd81e94-7796-4fd9-a029-018c8053f4e2', 'approval', 'act', '{"to": "d"}', '93e6d518819088f962c8e3b7ceea2cab0fad89ea437c291934cbb57899b63b52', 'it changes things', 'pending', 'none', NULL, NULL, NULL, '', '2026-11-29 11:34:37.77369+00', '2026-11-30 11:34:37.770978+00', NULL, NULL);


--
-- Data for Name: audit; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: audit_anchors; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: audit_cursors; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: audit_redactions; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: classification_turns; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: credentials; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: credential_bindings; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: documents; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.documents VALUES
	('77de45a1ca94e23841ac2734e18be578', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'upload:0.txt', '0.txt', 'text', 'upload', 'completed', NULL, '{}', '{}', '', '{}', NULL, '1e3a7d5ae6092250df60ef06de7b70bd', 1, true, '2026-11-29 11:34:31.903327+00', '2026-11-29 11:34:33.056565+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('c7f81c9c8cd19db60ea2c2098196e719', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'upload:1.txt', '1.txt', 'text', 'upload', 'completed', NULL, '{}', '{}', '', '{}', NULL, 'be5f69cccda0877abb35375ede816613', 1, true, '2026-11-29 11:34:31.903327+00', '2026-11-29 11:34:33.085397+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('fddf640357017719c7f76681ff52bacd', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'upload:2.txt', '2.txt', 'text', 'upload', 'completed', NULL, '{}', '{}', '', '{}', NULL, '2bbfd0beace43bbc9a3283d7bd2990ef', 1, true, '2026-11-29 11:34:31.903327+00', '2026-11-29 11:34:33.100966+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('ab18d7e0b1ad8007c74e6d2f2c26b2a3', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'upload:3.txt', '3.txt', 'text', 'upload', 'completed', NULL, '{}', '{}', '', '{}', NULL, 'a8a002ae7847d6c2d211bdf80da21401', 1, true, '2026-11-29 11:34:31.903327+00', '2026-11-29 11:34:33.117545+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('b9a592f6fa0a78b9ed3097a16472cb16', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'upload:4.txt', '4.txt', 'text', 'upload', 'completed', NULL, '{}', '{}', '', '{}', NULL, '623e470443dedc64687d4865826e7bfd', 1, true, '2026-11-29 11:34:31.903327+00', '2026-11-29 11:34:33.133021+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('c7ce19d284f2a867e0dbb87d20c5d3c8', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'upload:5.txt', '5.txt', 'text', 'upload', 'completed', NULL, '{}', '{}', '', '{}', NULL, '2e10f4272b7b8cddf23436a6aa29b398', 1, true, '2026-11-29 11:34:31.903327+00', '2026-11-29 11:34:33.149373+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('3594219adb7513f0a13755ef084ed108', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'upload:6.txt', '6.txt', 'text', 'upload', 'completed', NULL, '{}', '{}', '', '{}', NULL, 'a34637d39f24224c89b5f8fd74efe385', 1, true, '2026-11-29 11:34:31.903327+00', '2026-11-29 11:34:33.16655+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('afb94cdaa495d6d8a6e5bb3c3ba70f9e', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'upload:7.txt', '7.txt', 'text', 'upload', 'completed', NULL, '{}', '{}', '', '{}', NULL, 'bf0956c58cddade7a92c3f762c8902fe', 1, true, '2026-11-29 11:34:31.903327+00', '2026-11-29 11:34:33.179559+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('6fa7eadcd287f080534ddbaccfcdbdfe', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'upload:8.txt', '8.txt', 'text', 'upload', 'completed', NULL, '{}', '{}', '', '{}', NULL, '9aabe7d363e6c42687c883c7500d55d3', 1, true, '2026-11-29 11:34:31.903327+00', '2026-11-29 11:34:33.192492+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('60c0926014e4ef521eb998ebc5245ed2', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'upload:9.txt', '9.txt', 'text', 'upload', 'completed', NULL, '{}', '{}', '', '{}', NULL, 'c3cee877275302b219da46076e12f954', 1, true, '2026-11-29 11:34:31.903327+00', '2026-11-29 11:34:33.208229+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('664c883216a9e09cbbf2d1ffb306eadb', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'upload:10.txt', '10.txt', 'text', 'upload', 'completed', NULL, '{}', '{}', '', '{}', NULL, 'c7152cdd6c43061a63b2965234ebbce8', 1, true, '2026-11-29 11:34:31.903327+00', '2026-11-29 11:34:33.221844+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('0d7990676f50bf8c5a7ebae95eac0876', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'upload:11.txt', '11.txt', 'text', 'upload', 'completed', NULL, '{}', '{}', '', '{}', NULL, '32557799fbe1e15ce7964e6d7668c6ed', 1, true, '2026-11-29 11:34:31.903327+00', '2026-11-29 11:34:33.234989+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('263bd3a4ace81e3fa2d540ff41fffb64', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'upload:12.txt', '12.txt', 'text', 'upload', 'processing', NULL, '{}', '{}', '', '{}', NULL, NULL, 0, false, '2026-11-29 11:34:33.257345+00', NULL, '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('99605b9fa291b0179c0a6bbbf79a2d1f', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'upload:13.txt', '13.txt', 'text', 'upload', 'processing', NULL, '{}', '{}', '', '{}', NULL, NULL, 0, false, '2026-11-29 11:34:33.257345+00', NULL, '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('b8d707b054918132c1ddb5560b5fda7a', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'upload:14.txt', '14.txt', 'text', 'upload', 'processing', NULL, '{}', '{}', '', '{}', NULL, NULL, 0, false, '2026-11-29 11:34:33.257345+00', NULL, '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('3274ff20c07d0a3b3a21dbcdbd69818b', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'upload:15.txt', '15.txt', 'text', 'upload', 'processing', NULL, '{}', '{}', '', '{}', NULL, NULL, 0, false, '2026-11-29 11:34:33.257345+00', NULL, '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('77fc89288b83cb1ffa3f8ad4cf0a0c3d', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'upload:16.txt', '16.txt', 'text', 'upload', 'processing', NULL, '{}', '{}', '', '{}', NULL, NULL, 0, false, '2026-11-29 11:34:33.257345+00', NULL, '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('22873685e4681c7350b67fb7ea181d26', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'upload:17.txt', '17.txt', 'text', 'upload', 'processing', NULL, '{}', '{}', '', '{}', NULL, NULL, 0, false, '2026-11-29 11:34:33.257345+00', NULL, '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('e0db0a767fdbb3e51aca58de60986a6b', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 'source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i0', 'i0.txt', 'text', 'source', 'completed', NULL, '{}', '{}', '', '{"uploads": ["blob:a8cb1282-ac33-4289-b63b-9435891c2d76/201f1769-d30d-4ae8-8fbb-737d52c3077b/members/e0db0a767fdbb3e51aca58de60986a6b-329ab319010291c50fb529b53b5adfa71f7f56a2ad99d9c9867d6264e9f2f178"]}', NULL, '25d01ef9007c8687379cc8a15ebfe610', 1, true, '2026-11-29 11:34:37.25266+00', '2026-11-29 11:34:37.561939+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('a00e7ea0eb5ce57d33b9a9a00dfd74ea', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 'source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i3', 'i3.txt', 'text', 'source', 'completed', NULL, '{}', '{}', '', '{"uploads": ["blob:a8cb1282-ac33-4289-b63b-9435891c2d76/201f1769-d30d-4ae8-8fbb-737d52c3077b/members/a00e7ea0eb5ce57d33b9a9a00dfd74ea-f97b220a89b1b23c19b59a276227c66bf3c632f5280c405b28ae6f36984a7ddc"]}', NULL, '30f883afb6cb1156b0d64bc0e77f2c68', 1, true, '2026-11-29 11:34:37.266462+00', '2026-11-29 11:34:37.578576+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('ace9e605b4ec2d6688faf461fdde2ac0', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 'source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i2', 'i2.txt', 'text', 'source', 'completed', NULL, '{}', '{}', '', '{"uploads": ["blob:a8cb1282-ac33-4289-b63b-9435891c2d76/201f1769-d30d-4ae8-8fbb-737d52c3077b/members/ace9e605b4ec2d6688faf461fdde2ac0-786f7ca3d1f453c23499da633ceb0ecaa036c72fe0de55f1f62cd7b7d6bcd9e8"]}', NULL, 'a8352f06b1ad5f5f7458f513c9443c7d', 1, true, '2026-11-29 11:34:37.261513+00', '2026-11-29 11:34:37.589159+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('c3dbcec65365081cb23d78286588864d', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 'source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i1', 'i1.txt', 'text', 'source', 'completed', NULL, '{}', '{}', '', '{"uploads": ["blob:a8cb1282-ac33-4289-b63b-9435891c2d76/201f1769-d30d-4ae8-8fbb-737d52c3077b/members/c3dbcec65365081cb23d78286588864d-6743165e93c0901b9cd1443f7f2757128688772e057c891e2ebdbc59190995ee"]}', NULL, '0b61264f5c6837e157308183a32f0342', 1, true, '2026-11-29 11:34:37.263255+00', '2026-11-29 11:34:37.600329+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('a6302ff861d9a85c11a880948fd46b4d', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 'source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i4', 'i4.txt', 'text', 'source', 'completed', NULL, '{}', '{}', '', '{"uploads": ["blob:a8cb1282-ac33-4289-b63b-9435891c2d76/201f1769-d30d-4ae8-8fbb-737d52c3077b/members/a6302ff861d9a85c11a880948fd46b4d-18566740240c636c44efc7949b5d68b9a2fc9241be7112bda7f04f806f1f6a27"]}', NULL, '202cce35efd269faa2277a946565a39f', 1, true, '2026-11-29 11:34:37.270795+00', '2026-11-29 11:34:37.611321+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('2ce91e2a5d2d3a4b2be83afe4e14ec6e', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 'source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i8', 'i8.txt', 'text', 'source', 'completed', NULL, '{}', '{}', '', '{"uploads": ["blob:a8cb1282-ac33-4289-b63b-9435891c2d76/201f1769-d30d-4ae8-8fbb-737d52c3077b/members/2ce91e2a5d2d3a4b2be83afe4e14ec6e-7fdd896d676486992fc55db47ec5fe974c4e7c5502e070be348222a00efe6199"]}', NULL, 'bea52c03cdc338846d28f03e7c6c3c37', 1, true, '2026-11-29 11:34:37.322825+00', '2026-11-29 11:34:37.653532+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('24096be50f11a4bfbf9bb024e398c03b', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 'source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i5', 'i5.txt', 'text', 'source', 'completed', NULL, '{}', '{}', '', '{"uploads": ["blob:a8cb1282-ac33-4289-b63b-9435891c2d76/201f1769-d30d-4ae8-8fbb-737d52c3077b/members/24096be50f11a4bfbf9bb024e398c03b-ae86a2fb2bc6c0e08908266161b59556744f6b4b8089e40e6fe4fa04367e9744"]}', NULL, '02a6f286a72f3d3d1b93b29e06e0696e', 1, true, '2026-11-29 11:34:37.287924+00', '2026-11-29 11:34:37.622297+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('81fc939d77fc3fff89f1289688da32ea', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 'source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i6', 'i6.txt', 'text', 'source', 'completed', NULL, '{}', '{}', '', '{"uploads": ["blob:a8cb1282-ac33-4289-b63b-9435891c2d76/201f1769-d30d-4ae8-8fbb-737d52c3077b/members/81fc939d77fc3fff89f1289688da32ea-a636f77ec74d906918f7150da6ad2a96400e59fd2e2c95c674cbf84cf647ef49"]}', NULL, '643c6ed5e4d057c40ea0de2c3550b9ef', 1, true, '2026-11-29 11:34:37.29377+00', '2026-11-29 11:34:37.634458+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL),
	('366fb4b13ef14c1214373a2661f8b075', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 'source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i7', 'i7.txt', 'text', 'source', 'completed', NULL, '{}', '{}', '', '{"uploads": ["blob:a8cb1282-ac33-4289-b63b-9435891c2d76/201f1769-d30d-4ae8-8fbb-737d52c3077b/members/366fb4b13ef14c1214373a2661f8b075-43367386c151a8f7b8f8772736994f2f4f72a12d4296ba77d8535681a74ee361"]}', NULL, '007938d4b40c5aa0170954672c382877', 1, true, '2026-11-29 11:34:37.3136+00', '2026-11-29 11:34:37.644353+00', '[]', NULL, NULL, false, NULL, NULL, NULL, NULL);


--
-- Data for Name: document_agent_links; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: document_versions; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.document_versions VALUES
	('c3cee877275302b219da46076e12f954', '60c0926014e4ef521eb998ebc5245ed2', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', '44999d5084ce580ec1e0bcf3fa6fc269fc43fba0aab34032b1944a7a55b44a22', 139, 'text', 'file:@FOLDER@/9.txt', 4, 4, '2026-11-29 11:34:32.092362+00', 4),
	('c7152cdd6c43061a63b2965234ebbce8', '664c883216a9e09cbbf2d1ffb306eadb', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', '20702ed0ab85c5530b966b6932fba5f1865f883a72f19f648d2b4b37d8c9ee86', 147, 'text', 'file:@FOLDER@/10.txt', 4, 4, '2026-11-29 11:34:32.104595+00', 4),
	('32557799fbe1e15ce7964e6d7668c6ed', '0d7990676f50bf8c5a7ebae95eac0876', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', '3ef6f2c351ffab0ac98b896fcf04954b5f0852c79861cfe073fbf18c2a7361f4', 147, 'text', 'file:@FOLDER@/11.txt', 4, 4, '2026-11-29 11:34:32.114443+00', 4),
	('a545d14889c3bcffe584dd4d71e20065', '99605b9fa291b0179c0a6bbbf79a2d1f', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', '8a7799e382828d1b327a9fe3a84ff5af5e9ba1c8b393cbba770c61feafaa40ed', 147, 'text', 'file:@FOLDER@/13.txt', 4, 4, '2026-11-29 11:34:33.288731+00', NULL),
	('0112b420a57d2611a98e07693585d917', '3274ff20c07d0a3b3a21dbcdbd69818b', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'bd3d299a8d93012cbff4da78cf3f509c9144f6c8a3e9e40ca480fa6caba28aa7', 147, 'text', 'file:@FOLDER@/15.txt', 4, 4, '2026-11-29 11:34:33.307307+00', NULL),
	('1e3a7d5ae6092250df60ef06de7b70bd', '77de45a1ca94e23841ac2734e18be578', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'f12e60b383fd47b5ca98d44dac0f2c9c2069e13ed62411646a56462493d10250', 135, 'text', 'file:@FOLDER@/0.txt', 4, 4, '2026-11-29 11:34:31.961553+00', 4),
	('be5f69cccda0877abb35375ede816613', 'c7f81c9c8cd19db60ea2c2098196e719', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', '38f334b173f2deb0df9789840c18c48a536481384caec24160c820a7e37dc4eb', 139, 'text', 'file:@FOLDER@/1.txt', 4, 4, '2026-11-29 11:34:31.983175+00', 4),
	('2bbfd0beace43bbc9a3283d7bd2990ef', 'fddf640357017719c7f76681ff52bacd', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', '0ab445c6d45dbeb8794d776053245acd15547a46fde01d4ecb0d6c70ff9960ef', 139, 'text', 'file:@FOLDER@/2.txt', 4, 4, '2026-11-29 11:34:31.996768+00', 4),
	('245ec9d1be1e60ff2c554d15e622a69d', 'b8d707b054918132c1ddb5560b5fda7a', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', '4bdd78a42ca65c1b02f4e111e6591616c1be75b0f46b01e2cc10be0113df29c0', 147, 'text', 'file:@FOLDER@/14.txt', 4, 4, '2026-11-29 11:34:33.298181+00', NULL),
	('a8a002ae7847d6c2d211bdf80da21401', 'ab18d7e0b1ad8007c74e6d2f2c26b2a3', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'f896a9aa0530a4c138dd3c87613a444d3760c0fda41312672edfeb747074e8fe', 139, 'text', 'file:@FOLDER@/3.txt', 4, 4, '2026-11-29 11:34:32.011276+00', 4),
	('623e470443dedc64687d4865826e7bfd', 'b9a592f6fa0a78b9ed3097a16472cb16', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'edeb3c0fdd46a2b66b9ae5f2faa820f6980386eff459f255bc08e0954923d4b9', 139, 'text', 'file:@FOLDER@/4.txt', 4, 4, '2026-11-29 11:34:32.024975+00', 4),
	('7366d1c5b2ec130b24d47cfa0698df9d', '263bd3a4ace81e3fa2d540ff41fffb64', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'dfa08a382c5ff429565d9441eec0aa078f4ce0f5b54ba2bda3d46a0d2a370345', 147, 'text', 'file:@FOLDER@/12.txt', 4, 4, '2026-11-29 11:34:33.279154+00', NULL),
	('2e10f4272b7b8cddf23436a6aa29b398', 'c7ce19d284f2a867e0dbb87d20c5d3c8', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'e4e806191e766bae570f03077442799b690ac1b69993615a631e38d40840bebe', 139, 'text', 'file:@FOLDER@/5.txt', 4, 4, '2026-11-29 11:34:32.039888+00', 4),
	('a34637d39f24224c89b5f8fd74efe385', '3594219adb7513f0a13755ef084ed108', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', '20f6fd24f746a65a61009b7322b9b9d7da81603316db8ada7bc6c51143cbc701', 139, 'text', 'file:@FOLDER@/6.txt', 4, 4, '2026-11-29 11:34:32.054729+00', 4),
	('bf0956c58cddade7a92c3f762c8902fe', 'afb94cdaa495d6d8a6e5bb3c3ba70f9e', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', '96596d748b88cd7266ff9f7145ea2e8216b10c4cbeed8ca6e0582da6967b241a', 139, 'text', 'file:@FOLDER@/7.txt', 4, 4, '2026-11-29 11:34:32.067475+00', 4),
	('9aabe7d363e6c42687c883c7500d55d3', '6fa7eadcd287f080534ddbaccfcdbdfe', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'cd26be6674b78333a3fac4cbacc32cdf55496a143b3649979513c6ec789362ae', 139, 'text', 'file:@FOLDER@/8.txt', 4, 4, '2026-11-29 11:34:32.079781+00', 4),
	('f560742fa73c7d8feee1399ec5504923', '77fc89288b83cb1ffa3f8ad4cf0a0c3d', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', '8c0d3fb9d264a4cb2a5d04284025c0c5141903ce22e6ae110109554fa2782bc5', 147, 'text', 'file:@FOLDER@/16.txt', 4, 4, '2026-11-29 11:34:33.316734+00', NULL),
	('30f883afb6cb1156b0d64bc0e77f2c68', 'a00e7ea0eb5ce57d33b9a9a00dfd74ea', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 'f97b220a89b1b23c19b59a276227c66bf3c632f5280c405b28ae6f36984a7ddc', 29, 'text', 'blob:a8cb1282-ac33-4289-b63b-9435891c2d76/201f1769-d30d-4ae8-8fbb-737d52c3077b/members/a00e7ea0eb5ce57d33b9a9a00dfd74ea-f97b220a89b1b23c19b59a276227c66bf3c632f5280c405b28ae6f36984a7ddc', 1, 1, '2026-11-29 11:34:37.38993+00', 1),
	('4ecb6c20b6da2aabfe7e1d0ffa622109', '22873685e4681c7350b67fb7ea181d26', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', '0e9154935d285e00412d3978aaa3d3c61a3dda0ed7ffa2bb91937e538c66ca47', 147, 'text', 'file:@FOLDER@/17.txt', 4, 2, '2026-11-29 11:34:33.32614+00', NULL),
	('a8352f06b1ad5f5f7458f513c9443c7d', 'ace9e605b4ec2d6688faf461fdde2ac0', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', '786f7ca3d1f453c23499da633ceb0ecaa036c72fe0de55f1f62cd7b7d6bcd9e8', 29, 'text', 'blob:a8cb1282-ac33-4289-b63b-9435891c2d76/201f1769-d30d-4ae8-8fbb-737d52c3077b/members/ace9e605b4ec2d6688faf461fdde2ac0-786f7ca3d1f453c23499da633ceb0ecaa036c72fe0de55f1f62cd7b7d6bcd9e8', 1, 1, '2026-11-29 11:34:37.403593+00', 1),
	('0b61264f5c6837e157308183a32f0342', 'c3dbcec65365081cb23d78286588864d', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', '6743165e93c0901b9cd1443f7f2757128688772e057c891e2ebdbc59190995ee', 29, 'text', 'blob:a8cb1282-ac33-4289-b63b-9435891c2d76/201f1769-d30d-4ae8-8fbb-737d52c3077b/members/c3dbcec65365081cb23d78286588864d-6743165e93c0901b9cd1443f7f2757128688772e057c891e2ebdbc59190995ee', 1, 1, '2026-11-29 11:34:37.415153+00', 1),
	('202cce35efd269faa2277a946565a39f', 'a6302ff861d9a85c11a880948fd46b4d', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', '18566740240c636c44efc7949b5d68b9a2fc9241be7112bda7f04f806f1f6a27', 29, 'text', 'blob:a8cb1282-ac33-4289-b63b-9435891c2d76/201f1769-d30d-4ae8-8fbb-737d52c3077b/members/a6302ff861d9a85c11a880948fd46b4d-18566740240c636c44efc7949b5d68b9a2fc9241be7112bda7f04f806f1f6a27', 1, 1, '2026-11-29 11:34:37.426867+00', 1),
	('02a6f286a72f3d3d1b93b29e06e0696e', '24096be50f11a4bfbf9bb024e398c03b', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 'ae86a2fb2bc6c0e08908266161b59556744f6b4b8089e40e6fe4fa04367e9744', 29, 'text', 'blob:a8cb1282-ac33-4289-b63b-9435891c2d76/201f1769-d30d-4ae8-8fbb-737d52c3077b/members/24096be50f11a4bfbf9bb024e398c03b-ae86a2fb2bc6c0e08908266161b59556744f6b4b8089e40e6fe4fa04367e9744', 1, 1, '2026-11-29 11:34:37.441157+00', 1),
	('25d01ef9007c8687379cc8a15ebfe610', 'e0db0a767fdbb3e51aca58de60986a6b', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', '329ab319010291c50fb529b53b5adfa71f7f56a2ad99d9c9867d6264e9f2f178', 29, 'text', 'blob:a8cb1282-ac33-4289-b63b-9435891c2d76/201f1769-d30d-4ae8-8fbb-737d52c3077b/members/e0db0a767fdbb3e51aca58de60986a6b-329ab319010291c50fb529b53b5adfa71f7f56a2ad99d9c9867d6264e9f2f178', 1, 1, '2026-11-29 11:34:37.363382+00', 1),
	('643c6ed5e4d057c40ea0de2c3550b9ef', '81fc939d77fc3fff89f1289688da32ea', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 'a636f77ec74d906918f7150da6ad2a96400e59fd2e2c95c674cbf84cf647ef49', 29, 'text', 'blob:a8cb1282-ac33-4289-b63b-9435891c2d76/201f1769-d30d-4ae8-8fbb-737d52c3077b/members/81fc939d77fc3fff89f1289688da32ea-a636f77ec74d906918f7150da6ad2a96400e59fd2e2c95c674cbf84cf647ef49', 1, 1, '2026-11-29 11:34:37.452601+00', 1),
	('007938d4b40c5aa0170954672c382877', '366fb4b13ef14c1214373a2661f8b075', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', '43367386c151a8f7b8f8772736994f2f4f72a12d4296ba77d8535681a74ee361', 29, 'text', 'blob:a8cb1282-ac33-4289-b63b-9435891c2d76/201f1769-d30d-4ae8-8fbb-737d52c3077b/members/366fb4b13ef14c1214373a2661f8b075-43367386c151a8f7b8f8772736994f2f4f72a12d4296ba77d8535681a74ee361', 1, 1, '2026-11-29 11:34:37.463801+00', 1),
	('bea52c03cdc338846d28f03e7c6c3c37', '2ce91e2a5d2d3a4b2be83afe4e14ec6e', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', '7fdd896d676486992fc55db47ec5fe974c4e7c5502e070be348222a00efe6199', 29, 'text', 'blob:a8cb1282-ac33-4289-b63b-9435891c2d76/201f1769-d30d-4ae8-8fbb-737d52c3077b/members/2ce91e2a5d2d3a4b2be83afe4e14ec6e-7fdd896d676486992fc55db47ec5fe974c4e7c5502e070be348222a00efe6199', 1, 1, '2026-11-29 11:34:37.474937+00', 1);


--
-- Data for Name: document_chunks; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.document_chunks VALUES
	('c9c271b1d7778fc77aaf88c147dfa089', '77de45a1ca94e23841ac2734e18be578', '1e3a7d5ae6092250df60ef06de7b70bd', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', '{}', '5b97646845386c0c', 0, 'Book 0 page 1 tells of harbour 1.
Book 0 page 2 tells of harbour 2.
Book 0 page 3 tells of harbour 3.
Book 0 page 4 tells of harbour 4.', 'Book 0 page 1 tells of harbour 1.
Book 0 page 2 tells of harbour 2.
Book 0 page 3 tells of harbour 3.
Book 0 page 4 tells of harbour 4.', 1, 4, '[[1, 0, 33], [2, 0, 33], [3, 0, 33], [4, 0, 33]]', '[]', '{}', '{"doc_id": "77de45a1ca94e23841ac2734e18be578", "metrics": {"density": null, "entropy": 4.089, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "0.txt", "upload_date": "2026-11-29T11:34:31.903327+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]'),
	('59c6e3a5bc9aa7879a535d2b067662bb', 'c7f81c9c8cd19db60ea2c2098196e719', 'be5f69cccda0877abb35375ede816613', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', '{}', '5b97646845386c0c', 0, 'Book 1 page 1 tells of harbour 11.
Book 1 page 2 tells of harbour 12.
Book 1 page 3 tells of harbour 13.
Book 1 page 4 tells of harbour 14.', 'Book 1 page 1 tells of harbour 11.
Book 1 page 2 tells of harbour 12.
Book 1 page 3 tells of harbour 13.
Book 1 page 4 tells of harbour 14.', 1, 4, '[[1, 0, 34], [2, 0, 34], [3, 0, 34], [4, 0, 34]]', '[]', '{}', '{"doc_id": "c7f81c9c8cd19db60ea2c2098196e719", "metrics": {"density": null, "entropy": 4.05, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "1.txt", "upload_date": "2026-11-29T11:34:31.903327+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]'),
	('0b9f7824665e3b25cffee99f8988092b', 'fddf640357017719c7f76681ff52bacd', '2bbfd0beace43bbc9a3283d7bd2990ef', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', '{}', '5b97646845386c0c', 0, 'Book 2 page 1 tells of harbour 21.
Book 2 page 2 tells of harbour 22.
Book 2 page 3 tells of harbour 23.
Book 2 page 4 tells of harbour 24.', 'Book 2 page 1 tells of harbour 21.
Book 2 page 2 tells of harbour 22.
Book 2 page 3 tells of harbour 23.
Book 2 page 4 tells of harbour 24.', 1, 4, '[[1, 0, 34], [2, 0, 34], [3, 0, 34], [4, 0, 34]]', '[]', '{}', '{"doc_id": "fddf640357017719c7f76681ff52bacd", "metrics": {"density": null, "entropy": 4.05, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "2.txt", "upload_date": "2026-11-29T11:34:31.903327+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]'),
	('b9b58df66824ac077a472c4c56c18241', 'ab18d7e0b1ad8007c74e6d2f2c26b2a3', 'a8a002ae7847d6c2d211bdf80da21401', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', '{}', '5b97646845386c0c', 0, 'Book 3 page 1 tells of harbour 31.
Book 3 page 2 tells of harbour 32.
Book 3 page 3 tells of harbour 33.
Book 3 page 4 tells of harbour 34.', 'Book 3 page 1 tells of harbour 31.
Book 3 page 2 tells of harbour 32.
Book 3 page 3 tells of harbour 33.
Book 3 page 4 tells of harbour 34.', 1, 4, '[[1, 0, 34], [2, 0, 34], [3, 0, 34], [4, 0, 34]]', '[]', '{}', '{"doc_id": "ab18d7e0b1ad8007c74e6d2f2c26b2a3", "metrics": {"density": null, "entropy": 4.05, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "3.txt", "upload_date": "2026-11-29T11:34:31.903327+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]'),
	('a7cbb7eb1ce33a1371868d18cd0a6b96', 'b9a592f6fa0a78b9ed3097a16472cb16', '623e470443dedc64687d4865826e7bfd', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', '{}', '5b97646845386c0c', 0, 'Book 4 page 1 tells of harbour 41.
Book 4 page 2 tells of harbour 42.
Book 4 page 3 tells of harbour 43.
Book 4 page 4 tells of harbour 44.', 'Book 4 page 1 tells of harbour 41.
Book 4 page 2 tells of harbour 42.
Book 4 page 3 tells of harbour 43.
Book 4 page 4 tells of harbour 44.', 1, 4, '[[1, 0, 34], [2, 0, 34], [3, 0, 34], [4, 0, 34]]', '[]', '{}', '{"doc_id": "b9a592f6fa0a78b9ed3097a16472cb16", "metrics": {"density": null, "entropy": 4.05, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "4.txt", "upload_date": "2026-11-29T11:34:31.903327+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]'),
	('ced85ef3314901c31acafdefbd0c8d35', 'c7ce19d284f2a867e0dbb87d20c5d3c8', '2e10f4272b7b8cddf23436a6aa29b398', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', '{}', '5b97646845386c0c', 0, 'Book 5 page 1 tells of harbour 51.
Book 5 page 2 tells of harbour 52.
Book 5 page 3 tells of harbour 53.
Book 5 page 4 tells of harbour 54.', 'Book 5 page 1 tells of harbour 51.
Book 5 page 2 tells of harbour 52.
Book 5 page 3 tells of harbour 53.
Book 5 page 4 tells of harbour 54.', 1, 4, '[[1, 0, 34], [2, 0, 34], [3, 0, 34], [4, 0, 34]]', '[]', '{}', '{"doc_id": "c7ce19d284f2a867e0dbb87d20c5d3c8", "metrics": {"density": null, "entropy": 4.102, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "5.txt", "upload_date": "2026-11-29T11:34:31.903327+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]'),
	('d7272bfd651c8e9e04fa7ec6f149e449', '3594219adb7513f0a13755ef084ed108', 'a34637d39f24224c89b5f8fd74efe385', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', '{}', '5b97646845386c0c', 0, 'Book 6 page 1 tells of harbour 61.
Book 6 page 2 tells of harbour 62.
Book 6 page 3 tells of harbour 63.
Book 6 page 4 tells of harbour 64.', 'Book 6 page 1 tells of harbour 61.
Book 6 page 2 tells of harbour 62.
Book 6 page 3 tells of harbour 63.
Book 6 page 4 tells of harbour 64.', 1, 4, '[[1, 0, 34], [2, 0, 34], [3, 0, 34], [4, 0, 34]]', '[]', '{}', '{"doc_id": "3594219adb7513f0a13755ef084ed108", "metrics": {"density": null, "entropy": 4.102, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "6.txt", "upload_date": "2026-11-29T11:34:31.903327+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]'),
	('6490d356d95b35dcb549217168f2e989', 'afb94cdaa495d6d8a6e5bb3c3ba70f9e', 'bf0956c58cddade7a92c3f762c8902fe', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', '{}', '5b97646845386c0c', 0, 'Book 7 page 1 tells of harbour 71.
Book 7 page 2 tells of harbour 72.
Book 7 page 3 tells of harbour 73.
Book 7 page 4 tells of harbour 74.', 'Book 7 page 1 tells of harbour 71.
Book 7 page 2 tells of harbour 72.
Book 7 page 3 tells of harbour 73.
Book 7 page 4 tells of harbour 74.', 1, 4, '[[1, 0, 34], [2, 0, 34], [3, 0, 34], [4, 0, 34]]', '[]', '{}', '{"doc_id": "afb94cdaa495d6d8a6e5bb3c3ba70f9e", "metrics": {"density": null, "entropy": 4.102, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "7.txt", "upload_date": "2026-11-29T11:34:31.903327+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]'),
	('9eee3e073092e5ce4bc1dfee4a46b5cb', '6fa7eadcd287f080534ddbaccfcdbdfe', '9aabe7d363e6c42687c883c7500d55d3', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', '{}', '5b97646845386c0c', 0, 'Book 8 page 1 tells of harbour 81.
Book 8 page 2 tells of harbour 82.
Book 8 page 3 tells of harbour 83.
Book 8 page 4 tells of harbour 84.', 'Book 8 page 1 tells of harbour 81.
Book 8 page 2 tells of harbour 82.
Book 8 page 3 tells of harbour 83.
Book 8 page 4 tells of harbour 84.', 1, 4, '[[1, 0, 34], [2, 0, 34], [3, 0, 34], [4, 0, 34]]', '[]', '{}', '{"doc_id": "6fa7eadcd287f080534ddbaccfcdbdfe", "metrics": {"density": null, "entropy": 4.102, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "8.txt", "upload_date": "2026-11-29T11:34:31.903327+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]'),
	('47c56f3bc2a90ce66973c23a6f729b6a', '60c0926014e4ef521eb998ebc5245ed2', 'c3cee877275302b219da46076e12f954', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', '{}', '5b97646845386c0c', 0, 'Book 9 page 1 tells of harbour 91.
Book 9 page 2 tells of harbour 92.
Book 9 page 3 tells of harbour 93.
Book 9 page 4 tells of harbour 94.', 'Book 9 page 1 tells of harbour 91.
Book 9 page 2 tells of harbour 92.
Book 9 page 3 tells of harbour 93.
Book 9 page 4 tells of harbour 94.', 1, 4, '[[1, 0, 34], [2, 0, 34], [3, 0, 34], [4, 0, 34]]', '[]', '{}', '{"doc_id": "60c0926014e4ef521eb998ebc5245ed2", "metrics": {"density": null, "entropy": 4.102, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "9.txt", "upload_date": "2026-11-29T11:34:31.903327+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]'),
	('fdb0453f06b609e499f65f7f2def3057', '664c883216a9e09cbbf2d1ffb306eadb', 'c7152cdd6c43061a63b2965234ebbce8', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', '{}', '5b97646845386c0c', 0, 'Book 10 page 1 tells of harbour 101.
Book 10 page 2 tells of harbour 102.
Book 10 page 3 tells of harbour 103.
Book 10 page 4 tells of harbour 104.', 'Book 10 page 1 tells of harbour 101.
Book 10 page 2 tells of harbour 102.
Book 10 page 3 tells of harbour 103.
Book 10 page 4 tells of harbour 104.', 1, 4, '[[1, 0, 36], [2, 0, 36], [3, 0, 36], [4, 0, 36]]', '[]', '{}', '{"doc_id": "664c883216a9e09cbbf2d1ffb306eadb", "metrics": {"density": null, "entropy": 4.1345, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "10.txt", "upload_date": "2026-11-29T11:34:31.903327+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]'),
	('d2e027621bafbbdc793cbafc43b8bc7c', '0d7990676f50bf8c5a7ebae95eac0876', '32557799fbe1e15ce7964e6d7668c6ed', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', '{}', '5b97646845386c0c', 0, 'Book 11 page 1 tells of harbour 111.
Book 11 page 2 tells of harbour 112.
Book 11 page 3 tells of harbour 113.
Book 11 page 4 tells of harbour 114.', 'Book 11 page 1 tells of harbour 111.
Book 11 page 2 tells of harbour 112.
Book 11 page 3 tells of harbour 113.
Book 11 page 4 tells of harbour 114.', 1, 4, '[[1, 0, 36], [2, 0, 36], [3, 0, 36], [4, 0, 36]]', '[]', '{}', '{"doc_id": "0d7990676f50bf8c5a7ebae95eac0876", "metrics": {"density": null, "entropy": 4.0131, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "11.txt", "upload_date": "2026-11-29T11:34:31.903327+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]'),
	('e5d7a5048fee975587baad2c8b211318', 'e0db0a767fdbb3e51aca58de60986a6b', '25d01ef9007c8687379cc8a15ebfe610', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', '{}', '5b97646845386c0c', 0, 'Item 0 tells of lighthouse 0.', 'Item 0 tells of lighthouse 0.', 1, 1, '[[1, 0, 29]]', '[]', '{}', '{"doc_id": "e0db0a767fdbb3e51aca58de60986a6b", "metrics": {"density": null, "entropy": 3.6899, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "i0.txt", "upload_date": "2026-11-29T11:34:37.252660+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]'),
	('fd4f719210b9416cb6785f0f2effd5e9', 'a00e7ea0eb5ce57d33b9a9a00dfd74ea', '30f883afb6cb1156b0d64bc0e77f2c68', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', '{}', '5b97646845386c0c', 0, 'Item 3 tells of lighthouse 3.', 'Item 3 tells of lighthouse 3.', 1, 1, '[[1, 0, 29]]', '[]', '{}', '{"doc_id": "a00e7ea0eb5ce57d33b9a9a00dfd74ea", "metrics": {"density": null, "entropy": 3.6899, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "i3.txt", "upload_date": "2026-11-29T11:34:37.266462+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]'),
	('c5652fbd5318f007eef8bc5bf78ecc13', 'ace9e605b4ec2d6688faf461fdde2ac0', 'a8352f06b1ad5f5f7458f513c9443c7d', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', '{}', '5b97646845386c0c', 0, 'Item 2 tells of lighthouse 2.', 'Item 2 tells of lighthouse 2.', 1, 1, '[[1, 0, 29]]', '[]', '{}', '{"doc_id": "ace9e605b4ec2d6688faf461fdde2ac0", "metrics": {"density": null, "entropy": 3.6899, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "i2.txt", "upload_date": "2026-11-29T11:34:37.261513+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]'),
	('28cc0cb5a3fe25a205972e7383c441ff', 'c3dbcec65365081cb23d78286588864d', '0b61264f5c6837e157308183a32f0342', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', '{}', '5b97646845386c0c', 0, 'Item 1 tells of lighthouse 1.', 'Item 1 tells of lighthouse 1.', 1, 1, '[[1, 0, 29]]', '[]', '{}', '{"doc_id": "c3dbcec65365081cb23d78286588864d", "metrics": {"density": null, "entropy": 3.6899, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "i1.txt", "upload_date": "2026-11-29T11:34:37.263255+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]'),
	('a64e755f78e35081e89107988fb0fa91', 'a6302ff861d9a85c11a880948fd46b4d', '202cce35efd269faa2277a946565a39f', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', '{}', '5b97646845386c0c', 0, 'Item 4 tells of lighthouse 4.', 'Item 4 tells of lighthouse 4.', 1, 1, '[[1, 0, 29]]', '[]', '{}', '{"doc_id": "a6302ff861d9a85c11a880948fd46b4d", "metrics": {"density": null, "entropy": 3.6899, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "i4.txt", "upload_date": "2026-11-29T11:34:37.270795+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]'),
	('baf8b6156d0664ef19ce014c056c0eeb', '24096be50f11a4bfbf9bb024e398c03b', '02a6f286a72f3d3d1b93b29e06e0696e', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', '{}', '5b97646845386c0c', 0, 'Item 5 tells of lighthouse 5.', 'Item 5 tells of lighthouse 5.', 1, 1, '[[1, 0, 29]]', '[]', '{}', '{"doc_id": "24096be50f11a4bfbf9bb024e398c03b", "metrics": {"density": null, "entropy": 3.6899, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "i5.txt", "upload_date": "2026-11-29T11:34:37.287924+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]'),
	('3c789609838558d79d91955ee2f38d9e', '81fc939d77fc3fff89f1289688da32ea', '643c6ed5e4d057c40ea0de2c3550b9ef', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', '{}', '5b97646845386c0c', 0, 'Item 6 tells of lighthouse 6.', 'Item 6 tells of lighthouse 6.', 1, 1, '[[1, 0, 29]]', '[]', '{}', '{"doc_id": "81fc939d77fc3fff89f1289688da32ea", "metrics": {"density": null, "entropy": 3.6899, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "i6.txt", "upload_date": "2026-11-29T11:34:37.293770+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]'),
	('b5a3c8de95848f2100e1c354c88c2f2d', '366fb4b13ef14c1214373a2661f8b075', '007938d4b40c5aa0170954672c382877', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', '{}', '5b97646845386c0c', 0, 'Item 7 tells of lighthouse 7.', 'Item 7 tells of lighthouse 7.', 1, 1, '[[1, 0, 29]]', '[]', '{}', '{"doc_id": "366fb4b13ef14c1214373a2661f8b075", "metrics": {"density": null, "entropy": 3.6899, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "i7.txt", "upload_date": "2026-11-29T11:34:37.313600+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]'),
	('7ea5e5ea102fe22d7c05be6247a230b1', '2ce91e2a5d2d3a4b2be83afe4e14ec6e', 'bea52c03cdc338846d28f03e7c6c3c37', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', '{}', '5b97646845386c0c', 0, 'Item 8 tells of lighthouse 8.', 'Item 8 tells of lighthouse 8.', 1, 1, '[[1, 0, 29]]', '[]', '{}', '{"doc_id": "2ce91e2a5d2d3a4b2be83afe4e14ec6e", "metrics": {"density": null, "entropy": 3.6899, "coherence": 1.0, "importance": 1.0}, "doc_type": "text", "chunk_index": 0, "page_number": 1, "source_file": "i8.txt", "upload_date": "2026-11-29T11:34:37.322825+00:00", "chunking_method": "semantic"}', 'english', DEFAULT, DEFAULT, DEFAULT, 'native', NULL, '[]');


--
-- Data for Name: document_principals; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: embeddings_1; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.embeddings_1 VALUES
	(1, 'c9c271b1d7778fc77aaf88c147dfa089', '77de45a1ca94e23841ac2734e18be578', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', '{}', '[0.29900497,0.29900497,0.033222776,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.16611387,0.29900497,0.033222776,0.033222776,0.56478715,0.16611387,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.033222776,0.033222776,0.033222776]'),
	(1, '59c6e3a5bc9aa7879a535d2b067662bb', 'c7f81c9c8cd19db60ea2c2098196e719', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', '{}', '[0.29900497,0.29900497,0.033222776,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.16611387,0.29900497,0.033222776,0.033222776,0.56478715,0.16611387,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.033222776,0.033222776,0.033222776]'),
	(1, '0b9f7824665e3b25cffee99f8988092b', 'fddf640357017719c7f76681ff52bacd', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', '{}', '[0.29900497,0.29900497,0.033222776,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.16611387,0.29900497,0.033222776,0.033222776,0.56478715,0.16611387,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.033222776,0.033222776,0.033222776]'),
	(1, 'b9b58df66824ac077a472c4c56c18241', 'ab18d7e0b1ad8007c74e6d2f2c26b2a3', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', '{}', '[0.29900497,0.29900497,0.033222776,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.16611387,0.29900497,0.033222776,0.033222776,0.56478715,0.16611387,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.033222776,0.033222776,0.033222776]'),
	(1, 'a7cbb7eb1ce33a1371868d18cd0a6b96', 'b9a592f6fa0a78b9ed3097a16472cb16', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', '{}', '[0.29900497,0.29900497,0.033222776,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.16611387,0.29900497,0.033222776,0.033222776,0.56478715,0.16611387,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.033222776,0.033222776,0.033222776]'),
	(1, 'ced85ef3314901c31acafdefbd0c8d35', 'c7ce19d284f2a867e0dbb87d20c5d3c8', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', '{}', '[0.29900497,0.29900497,0.033222776,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.16611387,0.29900497,0.033222776,0.033222776,0.56478715,0.16611387,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.033222776,0.033222776,0.033222776]'),
	(1, 'd7272bfd651c8e9e04fa7ec6f149e449', '3594219adb7513f0a13755ef084ed108', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', '{}', '[0.29900497,0.29900497,0.033222776,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.16611387,0.29900497,0.033222776,0.033222776,0.56478715,0.16611387,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.033222776,0.033222776,0.033222776]'),
	(1, '6490d356d95b35dcb549217168f2e989', 'afb94cdaa495d6d8a6e5bb3c3ba70f9e', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', '{}', '[0.29900497,0.29900497,0.033222776,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.16611387,0.29900497,0.033222776,0.033222776,0.56478715,0.16611387,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.033222776,0.033222776,0.033222776]'),
	(1, '9eee3e073092e5ce4bc1dfee4a46b5cb', '6fa7eadcd287f080534ddbaccfcdbdfe', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', '{}', '[0.29900497,0.29900497,0.033222776,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.16611387,0.29900497,0.033222776,0.033222776,0.56478715,0.16611387,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.033222776,0.033222776,0.033222776]'),
	(1, '47c56f3bc2a90ce66973c23a6f729b6a', '60c0926014e4ef521eb998ebc5245ed2', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', '{}', '[0.29900497,0.29900497,0.033222776,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.16611387,0.29900497,0.033222776,0.033222776,0.56478715,0.16611387,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.033222776,0.033222776,0.033222776]'),
	(1, 'fdb0453f06b609e499f65f7f2def3057', '664c883216a9e09cbbf2d1ffb306eadb', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', '{}', '[0.29900497,0.29900497,0.033222776,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.16611387,0.29900497,0.033222776,0.033222776,0.56478715,0.16611387,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.033222776,0.033222776,0.033222776]'),
	(1, 'd2e027621bafbbdc793cbafc43b8bc7c', '0d7990676f50bf8c5a7ebae95eac0876', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', '{}', '[0.29900497,0.29900497,0.033222776,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.16611387,0.29900497,0.033222776,0.033222776,0.56478715,0.16611387,0.033222776,0.29900497,0.16611387,0.16611387,0.16611387,0.033222776,0.033222776,0.033222776,0.033222776,0.033222776]'),
	(1, 'e5d7a5048fee975587baad2c8b211318', 'e0db0a767fdbb3e51aca58de60986a6b', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', '{}', '[0.09325048,0.09325048,0.09325048,0.09325048,0.37300193,0.18650097,0.18650097,0.27975145,0.27975145,0.09325048,0.09325048,0.37300193,0.18650097,0.09325048,0.27975145,0.09325048,0.09325048,0.09325048,0.27975145,0.37300193,0.18650097,0.09325048,0.09325048,0.09325048,0.09325048,0.09325048]'),
	(1, 'fd4f719210b9416cb6785f0f2effd5e9', 'a00e7ea0eb5ce57d33b9a9a00dfd74ea', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', '{}', '[0.09325048,0.09325048,0.09325048,0.09325048,0.37300193,0.18650097,0.18650097,0.27975145,0.27975145,0.09325048,0.09325048,0.37300193,0.18650097,0.09325048,0.27975145,0.09325048,0.09325048,0.09325048,0.27975145,0.37300193,0.18650097,0.09325048,0.09325048,0.09325048,0.09325048,0.09325048]'),
	(1, 'c5652fbd5318f007eef8bc5bf78ecc13', 'ace9e605b4ec2d6688faf461fdde2ac0', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', '{}', '[0.09325048,0.09325048,0.09325048,0.09325048,0.37300193,0.18650097,0.18650097,0.27975145,0.27975145,0.09325048,0.09325048,0.37300193,0.18650097,0.09325048,0.27975145,0.09325048,0.09325048,0.09325048,0.27975145,0.37300193,0.18650097,0.09325048,0.09325048,0.09325048,0.09325048,0.09325048]'),
	(1, '28cc0cb5a3fe25a205972e7383c441ff', 'c3dbcec65365081cb23d78286588864d', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', '{}', '[0.09325048,0.09325048,0.09325048,0.09325048,0.37300193,0.18650097,0.18650097,0.27975145,0.27975145,0.09325048,0.09325048,0.37300193,0.18650097,0.09325048,0.27975145,0.09325048,0.09325048,0.09325048,0.27975145,0.37300193,0.18650097,0.09325048,0.09325048,0.09325048,0.09325048,0.09325048]'),
	(1, 'a64e755f78e35081e89107988fb0fa91', 'a6302ff861d9a85c11a880948fd46b4d', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', '{}', '[0.09325048,0.09325048,0.09325048,0.09325048,0.37300193,0.18650097,0.18650097,0.27975145,0.27975145,0.09325048,0.09325048,0.37300193,0.18650097,0.09325048,0.27975145,0.09325048,0.09325048,0.09325048,0.27975145,0.37300193,0.18650097,0.09325048,0.09325048,0.09325048,0.09325048,0.09325048]'),
	(1, 'baf8b6156d0664ef19ce014c056c0eeb', '24096be50f11a4bfbf9bb024e398c03b', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', '{}', '[0.09325048,0.09325048,0.09325048,0.09325048,0.37300193,0.18650097,0.18650097,0.27975145,0.27975145,0.09325048,0.09325048,0.37300193,0.18650097,0.09325048,0.27975145,0.09325048,0.09325048,0.09325048,0.27975145,0.37300193,0.18650097,0.09325048,0.09325048,0.09325048,0.09325048,0.09325048]'),
	(1, '3c789609838558d79d91955ee2f38d9e', '81fc939d77fc3fff89f1289688da32ea', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', '{}', '[0.09325048,0.09325048,0.09325048,0.09325048,0.37300193,0.18650097,0.18650097,0.27975145,0.27975145,0.09325048,0.09325048,0.37300193,0.18650097,0.09325048,0.27975145,0.09325048,0.09325048,0.09325048,0.27975145,0.37300193,0.18650097,0.09325048,0.09325048,0.09325048,0.09325048,0.09325048]'),
	(1, 'b5a3c8de95848f2100e1c354c88c2f2d', '366fb4b13ef14c1214373a2661f8b075', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', '{}', '[0.09325048,0.09325048,0.09325048,0.09325048,0.37300193,0.18650097,0.18650097,0.27975145,0.27975145,0.09325048,0.09325048,0.37300193,0.18650097,0.09325048,0.27975145,0.09325048,0.09325048,0.09325048,0.27975145,0.37300193,0.18650097,0.09325048,0.09325048,0.09325048,0.09325048,0.09325048]'),
	(1, '7ea5e5ea102fe22d7c05be6247a230b1', '2ce91e2a5d2d3a4b2be83afe4e14ec6e', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', '{}', '[0.09325048,0.09325048,0.09325048,0.09325048,0.37300193,0.18650097,0.18650097,0.27975145,0.27975145,0.09325048,0.09325048,0.37300193,0.18650097,0.09325048,0.27975145,0.09325048,0.09325048,0.09325048,0.27975145,0.37300193,0.18650097,0.09325048,0.09325048,0.09325048,0.09325048,0.09325048]');


--
-- Data for Name: entities; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: entity_mentions; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: episodes; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: erasures; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: event_receipts; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: event_streams; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.event_streams VALUES
	('job:97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 3),
	('job:0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 1),
	('job:fb95d394-91e2-40b2-b46f-16499e7d09a6', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 3),
	('run:4f331d10-bc54-496e-87f0-cc6477bbfa90', 'a3aa9f0c-10ad-4e90-a3e6-11d03a346754', 'd8dcc6e1-7e8e-4609-8636-89740a7a7562', 4),
	('run:bce0724e-d942-4b74-a8db-a6404adb17fe', 'a3aa9f0c-10ad-4e90-a3e6-11d03a346754', 'd8dcc6e1-7e8e-4609-8636-89740a7a7562', 4),
	('run:8cb2ce39-0a70-40b8-9af0-8692c8e4f419', 'a3aa9f0c-10ad-4e90-a3e6-11d03a346754', 'd8dcc6e1-7e8e-4609-8636-89740a7a7562', 4);


--
-- Data for Name: events; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.events VALUES
	('job:97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 1, 'queued', '{"kind": "upload"}', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', '2026-11-29 11:34:31.920425+00'),
	('job:97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 2, 'progress', '{"read": {"done": 48, "failed": 0, "expected": 48, "unchanged": 0}, "index": {"done": 12, "failed": 0, "expected": 12, "unchanged": 0}, "survey": {"done": 12, "failed": 0, "expected": 12, "unchanged": 0}, "outcome": {"failed": 0, "partial": 0, "pending": 0, "degraded": 0, "completed": 12, "unchanged": 0, "pages_with_caveats": 0}}', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', '2026-11-29 11:34:33.244435+00'),
	('job:97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 3, 'completed', '{"read": {"done": 48, "failed": 0, "expected": 48, "unchanged": 0}, "index": {"done": 12, "failed": 0, "expected": 12, "unchanged": 0}, "survey": {"done": 12, "failed": 0, "expected": 12, "unchanged": 0}, "outcome": {"failed": 0, "partial": 0, "pending": 0, "degraded": 0, "completed": 12, "unchanged": 0, "pages_with_caveats": 0}}', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', '2026-11-29 11:34:33.254913+00'),
	('job:0f7a5b12-c979-4035-8c19-8a89af8d3c38', 1, 'queued', '{"kind": "upload"}', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', '2026-11-29 11:34:33.261828+00'),
	('job:fb95d394-91e2-40b2-b46f-16499e7d09a6', 1, 'queued', '{"kind": "sync"}', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', '2026-11-29 11:34:37.224555+00'),
	('job:fb95d394-91e2-40b2-b46f-16499e7d09a6', 2, 'progress', '{"read": {"done": 9, "failed": 0, "expected": 9, "unchanged": 0}, "fetch": {"done": 9, "failed": 0, "expected": 9, "unchanged": 0}, "index": {"done": 9, "failed": 0, "expected": 9, "unchanged": 0}, "survey": {"done": 9, "failed": 0, "expected": 9, "unchanged": 0}, "outcome": {"failed": 0, "partial": 0, "pending": 0, "degraded": 0, "completed": 9, "unchanged": 0, "pages_with_caveats": 0}}', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', '2026-11-29 11:34:37.664214+00'),
	('job:fb95d394-91e2-40b2-b46f-16499e7d09a6', 3, 'completed', '{"read": {"done": 9, "failed": 0, "expected": 9, "unchanged": 0}, "fetch": {"done": 9, "failed": 0, "expected": 9, "unchanged": 0}, "index": {"done": 9, "failed": 0, "expected": 9, "unchanged": 0}, "survey": {"done": 9, "failed": 0, "expected": 9, "unchanged": 0}, "outcome": {"failed": 0, "partial": 0, "pending": 0, "degraded": 0, "completed": 9, "unchanged": 0, "pages_with_caveats": 0}}', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', '2026-11-29 11:34:37.671044+00'),
	('run:4f331d10-bc54-496e-87f0-cc6477bbfa90', 1, 'status', '{"state": "accepted", "run_id": "4f331d10-bc54-496e-87f0-cc6477bbfa90", "agent_id": "2fec5aaf-a7d1-469b-8775-b9617c1e84eb", "session_id": "ed3857b1-f914-451c-87a1-d62b3f78fd71"}', 'a3aa9f0c-10ad-4e90-a3e6-11d03a346754', 'd8dcc6e1-7e8e-4609-8636-89740a7a7562', '2026-11-29 11:34:37.747426+00'),
	('run:4f331d10-bc54-496e-87f0-cc6477bbfa90', 2, 'status', '{"state": "thinking"}', 'a3aa9f0c-10ad-4e90-a3e6-11d03a346754', 'd8dcc6e1-7e8e-4609-8636-89740a7a7562', '2026-11-29 11:34:37.747478+00'),
	('run:4f331d10-bc54-496e-87f0-cc6477bbfa90', 3, 'status', '{"state": "waiting_approval"}', 'a3aa9f0c-10ad-4e90-a3e6-11d03a346754', 'd8dcc6e1-7e8e-4609-8636-89740a7a7562', '2026-11-29 11:34:37.750427+00'),
	('run:4f331d10-bc54-496e-87f0-cc6477bbfa90', 4, 'approval_required', '{"approval": {"id": "972b3e19-af23-5d5b-b1d2-38a3bbef400d", "tool": "act", "digest": "ba32a0f0a846ee8d516759bfe15ce20b1dc9c868653016502ed04bfd9d088ce7", "reason": "it changes things", "category": "approval", "arguments": {"to": "b"}, "expires_at": "2026-11-30T11:34:37.748336+00:00"}}', 'a3aa9f0c-10ad-4e90-a3e6-11d03a346754', 'd8dcc6e1-7e8e-4609-8636-89740a7a7562', '2026-11-29 11:34:37.750444+00'),
	('run:bce0724e-d942-4b74-a8db-a6404adb17fe', 1, 'status', '{"state": "accepted", "run_id": "bce0724e-d942-4b74-a8db-a6404adb17fe", "agent_id": "2fec5aaf-a7d1-469b-8775-b9617c1e84eb", "session_id": "ed3857b1-f914-451c-87a1-d62b3f78fd71"}', 'a3aa9f0c-10ad-4e90-a3e6-11d03a346754', 'd8dcc6e1-7e8e-4609-8636-89740a7a7562', '2026-11-29 11:34:37.760083+00'),
	('run:bce0724e-d942-4b74-a8db-a6404adb17fe', 2, 'status', '{"state": "thinking"}', 'a3aa9f0c-10ad-4e90-a3e6-11d03a346754', 'd8dcc6e1-7e8e-4609-8636-89740a7a7562', '2026-11-29 11:34:37.760104+00'),
	('run:bce0724e-d942-4b74-a8db-a6404adb17fe', 3, 'status', '{"state": "waiting_approval"}', 'a3aa9f0c-10ad-4e90-a3e6-11d03a346754', 'd8dcc6e1-7e8e-4609-8636-89740a7a7562', '2026-11-29 11:34:37.762923+00'),
	('run:bce0724e-d942-4b74-a8db-a6404adb17fe', 4, 'approval_required', '{"approval": {"id": "3db8474f-e828-5e19-a307-d3b2fd45ea08", "tool": "act", "digest": "68357a739a1b9a395ccfcf53b914381e4241d1c62f21ce201dd9d2334a009abd", "reason": "it changes things", "category": "approval", "arguments": {"to": "c"}, "expires_at": "2026-11-30T11:34:37.760925+00:00"}}', 'a3aa9f0c-10ad-4e90-a3e6-11d03a346754', 'd8dcc6e1-7e8e-4609-8636-89740a7a7562', '2026-11-29 11:34:37.762942+00'),
	('run:8cb2ce39-0a70-40b8-9af0-8692c8e4f419', 1, 'status', '{"state": "accepted", "run_id": "8cb2ce39-0a70-40b8-9af0-8692c8e4f419", "agent_id": "2fec5aaf-a7d1-469b-8775-b9617c1e84eb", "session_id": "ed3857b1-f914-451c-87a1-d62b3f78fd71"}', 'a3aa9f0c-10ad-4e90-a3e6-11d03a346754', 'd8dcc6e1-7e8e-4609-8636-89740a7a7562', '2026-11-29 11:34:37.770156+00'),
	('run:8cb2ce39-0a70-40b8-9af0-8692c8e4f419', 2, 'status', '{"state": "thinking"}', 'a3aa9f0c-10ad-4e90-a3e6-11d03a346754', 'd8dcc6e1-7e8e-4609-8636-89740a7a7562', '2026-11-29 11:34:37.770176+00'),
	('run:8cb2ce39-0a70-40b8-9af0-8692c8e4f419', 3, 'status', '{"state": "waiting_approval"}', 'a3aa9f0c-10ad-4e90-a3e6-11d03a346754', 'd8dcc6e1-7e8e-4609-8636-89740a7a7562', '2026-11-29 11:34:37.773181+00'),
	('run:8cb2ce39-0a70-40b8-9af0-8692c8e4f419', 4, 'approval_required', '{"approval": {"id": "3628337f-0e86-5911-89a3-0a597a54394b", "tool": "act", "digest": "93e6d518819088f962c8e3b7ceea2cab0fad89ea437c291934cbb57899b63b52", "reason": "it changes things", "category": "approval", "arguments": {"to": "d"}, "expires_at": "2026-11-30T11:34:37.770978+00:00"}}', 'a3aa9f0c-10ad-4e90-a3e6-11d03a346754', 'd8dcc6e1-7e8e-4609-8636-89740a7a7562', '2026-11-29 11:34:37.7732+00');


--
-- Data for Name: external_accounts; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: extraction_runs; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: extraction_fields; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: facts; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: folder_readers; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: freed_blobs; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: generations; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.generations OVERRIDING SYSTEM VALUE VALUES
	(1, 'letters', 26, '5b97646845386c0c', '19caff5d231e50f6', 1, '2026-11-29 11:34:31.933848+00', 'letters');


--
-- Data for Name: generation_builds; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: golden_sets; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: golden_questions; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: golden_runs; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: golden_results; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: governance_policies; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: graph_versions; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: groups; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: group_members; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: index_faults; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: indexed_versions; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.indexed_versions VALUES
	(1, '1e3a7d5ae6092250df60ef06de7b70bd', '77de45a1ca94e23841ac2734e18be578', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 4, 1, true),
	(1, 'be5f69cccda0877abb35375ede816613', 'c7f81c9c8cd19db60ea2c2098196e719', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 4, 1, true),
	(1, '2bbfd0beace43bbc9a3283d7bd2990ef', 'fddf640357017719c7f76681ff52bacd', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 4, 1, true),
	(1, 'a8a002ae7847d6c2d211bdf80da21401', 'ab18d7e0b1ad8007c74e6d2f2c26b2a3', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 4, 1, true),
	(1, '623e470443dedc64687d4865826e7bfd', 'b9a592f6fa0a78b9ed3097a16472cb16', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 4, 1, true),
	(1, '2e10f4272b7b8cddf23436a6aa29b398', 'c7ce19d284f2a867e0dbb87d20c5d3c8', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 4, 1, true),
	(1, 'a34637d39f24224c89b5f8fd74efe385', '3594219adb7513f0a13755ef084ed108', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 4, 1, true),
	(1, 'bf0956c58cddade7a92c3f762c8902fe', 'afb94cdaa495d6d8a6e5bb3c3ba70f9e', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 4, 1, true),
	(1, '9aabe7d363e6c42687c883c7500d55d3', '6fa7eadcd287f080534ddbaccfcdbdfe', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 4, 1, true),
	(1, 'c3cee877275302b219da46076e12f954', '60c0926014e4ef521eb998ebc5245ed2', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 4, 1, true),
	(1, 'c7152cdd6c43061a63b2965234ebbce8', '664c883216a9e09cbbf2d1ffb306eadb', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 4, 1, true),
	(1, '32557799fbe1e15ce7964e6d7668c6ed', '0d7990676f50bf8c5a7ebae95eac0876', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 4, 1, true),
	(1, '25d01ef9007c8687379cc8a15ebfe610', 'e0db0a767fdbb3e51aca58de60986a6b', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 1, 1, true),
	(1, '30f883afb6cb1156b0d64bc0e77f2c68', 'a00e7ea0eb5ce57d33b9a9a00dfd74ea', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 1, 1, true),
	(1, 'a8352f06b1ad5f5f7458f513c9443c7d', 'ace9e605b4ec2d6688faf461fdde2ac0', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 1, 1, true),
	(1, '0b61264f5c6837e157308183a32f0342', 'c3dbcec65365081cb23d78286588864d', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 1, 1, true),
	(1, '202cce35efd269faa2277a946565a39f', 'a6302ff861d9a85c11a880948fd46b4d', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 1, 1, true),
	(1, '02a6f286a72f3d3d1b93b29e06e0696e', '24096be50f11a4bfbf9bb024e398c03b', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 1, 1, true),
	(1, '643c6ed5e4d057c40ea0de2c3550b9ef', '81fc939d77fc3fff89f1289688da32ea', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 1, 1, true),
	(1, '007938d4b40c5aa0170954672c382877', '366fb4b13ef14c1214373a2661f8b075', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 1, 1, true),
	(1, 'bea52c03cdc338846d28f03e7c6c3c37', '2ce91e2a5d2d3a4b2be83afe4e14ec6e', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 1, 1, true);


--
-- Data for Name: jobs; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.jobs VALUES
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'upload', 'bulk', 'completed', 'run', '{"files": [{"origin": "upload:0.txt", "filename": "0.txt", "location": "file:@FOLDER@/0.txt"}, {"origin": "upload:1.txt", "filename": "1.txt", "location": "file:@FOLDER@/1.txt"}, {"origin": "upload:2.txt", "filename": "2.txt", "location": "file:@FOLDER@/2.txt"}, {"origin": "upload:3.txt", "filename": "3.txt", "location": "file:@FOLDER@/3.txt"}, {"origin": "upload:4.txt", "filename": "4.txt", "location": "file:@FOLDER@/4.txt"}, {"origin": "upload:5.txt", "filename": "5.txt", "location": "file:@FOLDER@/5.txt"}, {"origin": "upload:6.txt", "filename": "6.txt", "location": "file:@FOLDER@/6.txt"}, {"origin": "upload:7.txt", "filename": "7.txt", "location": "file:@FOLDER@/7.txt"}, {"origin": "upload:8.txt", "filename": "8.txt", "location": "file:@FOLDER@/8.txt"}, {"origin": "upload:9.txt", "filename": "9.txt", "location": "file:@FOLDER@/9.txt"}, {"origin": "upload:10.txt", "filename": "10.txt", "location": "file:@FOLDER@/10.txt"}, {"origin": "upload:11.txt", "filename": "11.txt", "location": "file:@FOLDER@/11.txt"}]}', NULL, 'bf723bf78ef5a9119516e6fa7fbb512fdf936afb3a6a8739e718d7148378e5fb', NULL, NULL, 1, NULL, false, 1, 0, NULL, '2026-11-29 11:34:31.903327+00', '2026-11-29 11:34:31.923314+00', '2026-11-29 11:34:33.252367+00', 0, -1, NULL, NULL),
	('0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'upload', 'small', 'running', 'run', '{"files": [{"origin": "upload:12.txt", "filename": "12.txt", "location": "file:@FOLDER@/12.txt"}, {"origin": "upload:13.txt", "filename": "13.txt", "location": "file:@FOLDER@/13.txt"}, {"origin": "upload:14.txt", "filename": "14.txt", "location": "file:@FOLDER@/14.txt"}, {"origin": "upload:15.txt", "filename": "15.txt", "location": "file:@FOLDER@/15.txt"}, {"origin": "upload:16.txt", "filename": "16.txt", "location": "file:@FOLDER@/16.txt"}, {"origin": "upload:17.txt", "filename": "17.txt", "location": "file:@FOLDER@/17.txt"}]}', NULL, '8f2cd41a71c6ffeed9860959185f8f84794afb02c70ec99e92cafa0fd671fa52', NULL, 'worker-1', 1, '2026-11-29 11:35:33.26363+00', false, 1, 0, NULL, '2026-11-29 11:34:33.257345+00', '2026-11-29 11:34:33.263631+00', NULL, 0, -1, NULL, NULL),
	('1110c613-7e15-4d7f-81a6-af6cb5e4e25c', '6f335f87-a96a-4844-86f0-75d7a3fe97c1', '2159bbfc-7868-40fd-b187-a0346f380849', 'upload', 'small', 'completed', 'plan', '{}', NULL, NULL, NULL, NULL, 0, NULL, false, 0, 0, NULL, '2026-11-29 11:34:37.847465+00', NULL, NULL, 0, -1, NULL, NULL),
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 'sync', 'bulk', 'completed', 'run', '{"plan": {"at": "2026-11-29T11:34:37.230128+00:00", "job": "fb95d394-91e2-40b2-b46f-16499e7d09a6", "counts": {"held": 0, "added": 9, "moved": 0, "faults": 0, "listed": 9, "rights": 0, "changed": 0, "removed": 0, "waiting": 0, "excluded": 0, "returned": 0, "unchanged": 0}, "reason": null, "dry_run": false, "samples": {"added": ["i0.txt", "i1.txt", "i2.txt", "i3.txt", "i4.txt", "i5.txt", "i6.txt", "i7.txt", "i8.txt"]}}, "cursor": "0", "source": "8259abb3-458b-44f2-a35a-b0928701578d", "refresh": true, "listed_at": "2026-11-29T11:34:37.230128+00:00"}', NULL, '9f28d13231c480d917827e21d62ce7d6f5e4dc227b7f7022dee3ef6e39077b30', NULL, NULL, 1, NULL, false, 1, 0, NULL, '2026-11-29 11:34:37.222739+00', '2026-11-29 11:34:37.226089+00', '2026-11-29 11:34:37.669785+00', 0, -1, NULL, NULL),
	('89ad8b7b-f717-4f9f-a2a5-8d10f3500726', '6f335f87-a96a-4844-86f0-75d7a3fe97c1', '2159bbfc-7868-40fd-b187-a0346f380849', 'upload', 'small', 'completed', 'plan', '{}', NULL, NULL, NULL, NULL, 0, NULL, false, 0, 0, NULL, '2026-11-29 11:34:37.840149+00', NULL, NULL, 0, -1, NULL, NULL),
	('f33ffcbf-99d9-4479-9ee7-c67a78dff13d', '6f335f87-a96a-4844-86f0-75d7a3fe97c1', '2159bbfc-7868-40fd-b187-a0346f380849', 'upload', 'small', 'completed', 'plan', '{}', NULL, NULL, NULL, NULL, 0, NULL, false, 0, 0, NULL, '2026-11-29 11:34:37.845851+00', NULL, NULL, 0, -1, NULL, NULL),
	('9a6e9a39-88ee-406c-96e1-5fa5c8442c5c', '6f335f87-a96a-4844-86f0-75d7a3fe97c1', '2159bbfc-7868-40fd-b187-a0346f380849', 'upload', 'small', 'completed', 'plan', '{}', NULL, NULL, NULL, NULL, 0, NULL, false, 0, 0, NULL, '2026-11-29 11:34:37.846779+00', NULL, NULL, 0, -1, NULL, NULL),
	('aa98f354-1de9-465b-af85-7c805c910a22', '6f335f87-a96a-4844-86f0-75d7a3fe97c1', '2159bbfc-7868-40fd-b187-a0346f380849', 'upload', 'small', 'completed', 'plan', '{}', NULL, NULL, NULL, NULL, 0, NULL, false, 0, 0, NULL, '2026-11-29 11:34:37.848109+00', NULL, NULL, 0, -1, NULL, NULL);


--
-- Data for Name: job_progress; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.job_progress VALUES
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'read', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 9, 9, 0, 0, 0, 0, 0),
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'fetch', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 9, 9, 0, 0, 0, 0, 0),
	('0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'index', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 6, 0, 0, 0, 0, 0, 0),
	('0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'survey', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 6, 6, 0, 0, 0, 0, 0),
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'index', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 9, 9, 0, 0, 0, 0, 0),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 48, 48, 0, 0, 0, 0, 0),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'survey', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 12, 12, 0, 0, 0, 0, 0),
	('0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'read', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 24, 22, 0, 0, 0, 0, 0),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'index', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 12, 12, 0, 0, 0, 0, 0),
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'survey', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 9, 9, 0, 0, 0, 0, 0);


--
-- Data for Name: keyword_index_made; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.keyword_index_made VALUES
	('2026-11-29 11:34:30.106763+00');


--
-- Data for Name: lane_workers; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: legal_holds; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: llm_connections; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: memberships; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.memberships VALUES
	('300f7849-56d9-4e9d-a181-98b26ce8d56b', '2159bbfc-7868-40fd-b187-a0346f380849', '6f335f87-a96a-4844-86f0-75d7a3fe97c1', 'viewer', NULL),
	('9fd61808-f995-4897-a1f6-aa6a194e61eb', '2159bbfc-7868-40fd-b187-a0346f380849', '6f335f87-a96a-4844-86f0-75d7a3fe97c1', 'developer', NULL),
	('cfcc8623-601d-4683-8ecc-258412524564', '2159bbfc-7868-40fd-b187-a0346f380849', '6f335f87-a96a-4844-86f0-75d7a3fe97c1', 'operator', NULL),
	('5c1df573-541b-46bb-8a6e-5cdd7aa18588', '2159bbfc-7868-40fd-b187-a0346f380849', '6f335f87-a96a-4844-86f0-75d7a3fe97c1', 'admin', NULL);


--
-- Data for Name: messages; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: oauth_attempts; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: oauth_connections; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: outbox; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.outbox OVERRIDING SYSTEM VALUE VALUES
	(1, '6f335f87-a96a-4844-86f0-75d7a3fe97c1', '2159bbfc-7868-40fd-b187-a0346f380849', 'job.queued', '{"kind": "upload", "state": "queued", "job_id": "89ad8b7b-f717-4f9f-a2a5-8d10f3500726", "created_by": null}', '2026-11-29 11:34:37.844258+00', 'c78b0f58-ef78-44ce-af79-7f847014eb30', 'job:89ad8b7b-f717-4f9f-a2a5-8d10f3500726', '{}'),
	(2, '6f335f87-a96a-4844-86f0-75d7a3fe97c1', '2159bbfc-7868-40fd-b187-a0346f380849', 'job.queued', '{"kind": "upload", "state": "queued", "job_id": "f33ffcbf-99d9-4479-9ee7-c67a78dff13d", "created_by": null}', '2026-11-29 11:34:37.846234+00', '48584e08-b958-4cbc-86f5-83ff05d84e65', 'job:f33ffcbf-99d9-4479-9ee7-c67a78dff13d', '{}'),
	(3, '6f335f87-a96a-4844-86f0-75d7a3fe97c1', '2159bbfc-7868-40fd-b187-a0346f380849', 'job.queued', '{"kind": "upload", "state": "queued", "job_id": "9a6e9a39-88ee-406c-96e1-5fa5c8442c5c", "created_by": null}', '2026-11-29 11:34:37.847016+00', '89f5003f-ff97-447e-ad0c-3ec0678a084e', 'job:9a6e9a39-88ee-406c-96e1-5fa5c8442c5c', '{}'),
	(4, '6f335f87-a96a-4844-86f0-75d7a3fe97c1', '2159bbfc-7868-40fd-b187-a0346f380849', 'job.queued', '{"kind": "upload", "state": "queued", "job_id": "1110c613-7e15-4d7f-81a6-af6cb5e4e25c", "created_by": null}', '2026-11-29 11:34:37.847693+00', '2f3736e4-d966-4fe0-a57a-56ea20de01ba', 'job:1110c613-7e15-4d7f-81a6-af6cb5e4e25c', '{}'),
	(5, '6f335f87-a96a-4844-86f0-75d7a3fe97c1', '2159bbfc-7868-40fd-b187-a0346f380849', 'job.queued', '{"kind": "upload", "state": "queued", "job_id": "aa98f354-1de9-465b-af85-7c805c910a22", "created_by": null}', '2026-11-29 11:34:37.848335+00', '122d9d7c-ec27-496e-a697-be4b7e7d7bba', 'job:aa98f354-1de9-465b-af85-7c805c910a22', '{}'),
	(6, '6f335f87-a96a-4844-86f0-75d7a3fe97c1', '2159bbfc-7868-40fd-b187-a0346f380849', 'job.finished', '{"kind": "upload", "state": "completed", "job_id": "89ad8b7b-f717-4f9f-a2a5-8d10f3500726", "created_by": null}', '2026-11-29 11:34:37.85146+00', '3b8e73bd-9f5b-4466-8968-434a37ea0707', 'job:89ad8b7b-f717-4f9f-a2a5-8d10f3500726', '{}'),
	(7, '6f335f87-a96a-4844-86f0-75d7a3fe97c1', '2159bbfc-7868-40fd-b187-a0346f380849', 'job.finished', '{"kind": "upload", "state": "completed", "job_id": "f33ffcbf-99d9-4479-9ee7-c67a78dff13d", "created_by": null}', '2026-11-29 11:34:37.852146+00', '8a080cb8-0ed3-409c-8c0b-21af181fa00a', 'job:f33ffcbf-99d9-4479-9ee7-c67a78dff13d', '{}'),
	(8, '6f335f87-a96a-4844-86f0-75d7a3fe97c1', '2159bbfc-7868-40fd-b187-a0346f380849', 'job.finished', '{"kind": "upload", "state": "completed", "job_id": "9a6e9a39-88ee-406c-96e1-5fa5c8442c5c", "created_by": null}', '2026-11-29 11:34:37.852667+00', '7d92f7b9-d596-409c-94f1-273604c6c7e4', 'job:9a6e9a39-88ee-406c-96e1-5fa5c8442c5c', '{}'),
	(9, '6f335f87-a96a-4844-86f0-75d7a3fe97c1', '2159bbfc-7868-40fd-b187-a0346f380849', 'job.finished', '{"kind": "upload", "state": "completed", "job_id": "1110c613-7e15-4d7f-81a6-af6cb5e4e25c", "created_by": null}', '2026-11-29 11:34:37.853176+00', '19603eeb-7be8-44bb-b73f-925cd6e7c953', 'job:1110c613-7e15-4d7f-81a6-af6cb5e4e25c', '{}'),
	(10, '6f335f87-a96a-4844-86f0-75d7a3fe97c1', '2159bbfc-7868-40fd-b187-a0346f380849', 'job.finished', '{"kind": "upload", "state": "completed", "job_id": "aa98f354-1de9-465b-af85-7c805c910a22", "created_by": null}', '2026-11-29 11:34:37.853628+00', 'b807a455-55b9-482f-8feb-add3280e31b6', 'job:aa98f354-1de9-465b-af85-7c805c910a22', '{}');


--
-- Data for Name: page_corrections; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: page_tables; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: pages; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.pages VALUES
	('1e3a7d5ae6092250df60ef06de7b70bd', 1, '24cd2a9d709f0bbd992451f60b66815b', '77de45a1ca94e23841ac2734e18be578', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 0 page 1 tells of harbour 1.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.130764+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('1e3a7d5ae6092250df60ef06de7b70bd', 2, 'b194194bc4fe1d95e3618ce762a93b15', '77de45a1ca94e23841ac2734e18be578', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 0 page 2 tells of harbour 2.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.138992+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('1e3a7d5ae6092250df60ef06de7b70bd', 3, '91dd0ea50c0ddf21ad96e8b3089879e5', '77de45a1ca94e23841ac2734e18be578', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 0 page 3 tells of harbour 3.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.14555+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('1e3a7d5ae6092250df60ef06de7b70bd', 4, 'b2cc6c4b42359bcd1deac426222e90a2', '77de45a1ca94e23841ac2734e18be578', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 0 page 4 tells of harbour 4.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.151878+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('be5f69cccda0877abb35375ede816613', 1, 'ba65980431759ecdfb2ba140ef976410', 'c7f81c9c8cd19db60ea2c2098196e719', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 1 page 1 tells of harbour 11.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.158407+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('be5f69cccda0877abb35375ede816613', 2, 'b5d81a8b2b9c313e38315121f7287211', 'c7f81c9c8cd19db60ea2c2098196e719', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 1 page 2 tells of harbour 12.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.164658+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('be5f69cccda0877abb35375ede816613', 3, '826ffb5bb8c505e9d0dc16821ead21dc', 'c7f81c9c8cd19db60ea2c2098196e719', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 1 page 3 tells of harbour 13.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.171544+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('be5f69cccda0877abb35375ede816613', 4, 'c7e05e6e0ae9fb6403fefa4144cf9aa6', 'c7f81c9c8cd19db60ea2c2098196e719', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 1 page 4 tells of harbour 14.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.177266+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('2bbfd0beace43bbc9a3283d7bd2990ef', 1, '0eee563b07d6f18f12ed085a242dcb9b', 'fddf640357017719c7f76681ff52bacd', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 2 page 1 tells of harbour 21.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.183871+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('2bbfd0beace43bbc9a3283d7bd2990ef', 2, '2153fa06f45feb20a071650a77322913', 'fddf640357017719c7f76681ff52bacd', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 2 page 2 tells of harbour 22.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.189593+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('2bbfd0beace43bbc9a3283d7bd2990ef', 3, '6c494cbdf10c2280c544c88052e3f5c5', 'fddf640357017719c7f76681ff52bacd', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 2 page 3 tells of harbour 23.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.195154+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('2bbfd0beace43bbc9a3283d7bd2990ef', 4, 'a88a5a94b0271915bcfce3cf844cd092', 'fddf640357017719c7f76681ff52bacd', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 2 page 4 tells of harbour 24.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.200679+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('a8a002ae7847d6c2d211bdf80da21401', 1, '2f6f5ba6a984916c4150fcc4fc57194b', 'ab18d7e0b1ad8007c74e6d2f2c26b2a3', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 3 page 1 tells of harbour 31.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.20498+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('a8a002ae7847d6c2d211bdf80da21401', 2, 'ad95f6614b6677518f26aac518e7ee7b', 'ab18d7e0b1ad8007c74e6d2f2c26b2a3', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 3 page 2 tells of harbour 32.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.208944+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('a8a002ae7847d6c2d211bdf80da21401', 3, '2e885430ad40ea500c977e9fba915def', 'ab18d7e0b1ad8007c74e6d2f2c26b2a3', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 3 page 3 tells of harbour 33.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.21268+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('a8a002ae7847d6c2d211bdf80da21401', 4, '03c5af7c049774a1777bebeedbc96635', 'ab18d7e0b1ad8007c74e6d2f2c26b2a3', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 3 page 4 tells of harbour 34.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.21642+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('623e470443dedc64687d4865826e7bfd', 1, '969dc6a9b9b98fbac1d82b7745cf323e', 'b9a592f6fa0a78b9ed3097a16472cb16', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 4 page 1 tells of harbour 41.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.22078+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('623e470443dedc64687d4865826e7bfd', 2, '9d9d690994561c577dcbf502098ab7bc', 'b9a592f6fa0a78b9ed3097a16472cb16', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 4 page 2 tells of harbour 42.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.224817+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('623e470443dedc64687d4865826e7bfd', 3, 'e43a3ff203685543ff159114b6c09632', 'b9a592f6fa0a78b9ed3097a16472cb16', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 4 page 3 tells of harbour 43.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.228848+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('623e470443dedc64687d4865826e7bfd', 4, 'b7c041bae23d7f232624e5f24a2f4183', 'b9a592f6fa0a78b9ed3097a16472cb16', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 4 page 4 tells of harbour 44.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.232923+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('2e10f4272b7b8cddf23436a6aa29b398', 1, '9473df5d7ed40cd5f5c7463fb0575797', 'c7ce19d284f2a867e0dbb87d20c5d3c8', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 5 page 1 tells of harbour 51.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.237047+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('2e10f4272b7b8cddf23436a6aa29b398', 2, 'cf8ab5a67db2ebf3c8e4978f27b88826', 'c7ce19d284f2a867e0dbb87d20c5d3c8', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 5 page 2 tells of harbour 52.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.241586+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('2e10f4272b7b8cddf23436a6aa29b398', 3, '09f524fefb08c138265ca1afe1053fab', 'c7ce19d284f2a867e0dbb87d20c5d3c8', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 5 page 3 tells of harbour 53.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.245704+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('2e10f4272b7b8cddf23436a6aa29b398', 4, '4b3107057b5645bdc8393334b161f479', 'c7ce19d284f2a867e0dbb87d20c5d3c8', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 5 page 4 tells of harbour 54.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.249697+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('a34637d39f24224c89b5f8fd74efe385', 1, '956ff9e0f346b0a28e652855e5b3967d', '3594219adb7513f0a13755ef084ed108', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 6 page 1 tells of harbour 61.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.254112+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('a34637d39f24224c89b5f8fd74efe385', 2, 'a1c7a8bacfff2e55aa418b22d5cb7cab', '3594219adb7513f0a13755ef084ed108', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 6 page 2 tells of harbour 62.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.258623+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('a34637d39f24224c89b5f8fd74efe385', 3, 'f14002167163d1afb628ba1eee4606fd', '3594219adb7513f0a13755ef084ed108', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 6 page 3 tells of harbour 63.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.262948+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('a34637d39f24224c89b5f8fd74efe385', 4, 'd32ed5178bba79580feed59556ba63e2', '3594219adb7513f0a13755ef084ed108', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 6 page 4 tells of harbour 64.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.266919+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('bf0956c58cddade7a92c3f762c8902fe', 1, '22cd0b449ce3c70fdc4092de0a4094a9', 'afb94cdaa495d6d8a6e5bb3c3ba70f9e', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 7 page 1 tells of harbour 71.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.271313+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('bf0956c58cddade7a92c3f762c8902fe', 2, '66f86c22438d0e9a2171a51058af97d9', 'afb94cdaa495d6d8a6e5bb3c3ba70f9e', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 7 page 2 tells of harbour 72.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.275615+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('bf0956c58cddade7a92c3f762c8902fe', 3, '53d9b2ff6fcbb774433fa523b4c64ecc', 'afb94cdaa495d6d8a6e5bb3c3ba70f9e', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 7 page 3 tells of harbour 73.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.279764+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('bf0956c58cddade7a92c3f762c8902fe', 4, 'b7b7efee7ae810b084832270b57e66da', 'afb94cdaa495d6d8a6e5bb3c3ba70f9e', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 7 page 4 tells of harbour 74.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.284298+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('9aabe7d363e6c42687c883c7500d55d3', 1, '3c3ea0e3e155e05ea8cbe0d0eeba66fa', '6fa7eadcd287f080534ddbaccfcdbdfe', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 8 page 1 tells of harbour 81.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.288506+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('9aabe7d363e6c42687c883c7500d55d3', 2, '751ca1c028aefa16944c06feeb5d9ac9', '6fa7eadcd287f080534ddbaccfcdbdfe', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 8 page 2 tells of harbour 82.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.292865+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('9aabe7d363e6c42687c883c7500d55d3', 3, 'bcd83bdaf21825b4f05b3aea631a6045', '6fa7eadcd287f080534ddbaccfcdbdfe', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 8 page 3 tells of harbour 83.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.297279+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('9aabe7d363e6c42687c883c7500d55d3', 4, '1c5987026b144a3d6d8d99faf60b19b6', '6fa7eadcd287f080534ddbaccfcdbdfe', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 8 page 4 tells of harbour 84.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.301093+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('c3cee877275302b219da46076e12f954', 1, 'd96c155dba2ff08c1221e49c87fe6521', '60c0926014e4ef521eb998ebc5245ed2', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 9 page 1 tells of harbour 91.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.304815+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('c3cee877275302b219da46076e12f954', 2, 'd42a15b4b0fe3adbbf34d5eebc4f868f', '60c0926014e4ef521eb998ebc5245ed2', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 9 page 2 tells of harbour 92.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.311272+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('c3cee877275302b219da46076e12f954', 3, '3cd5ba9c9aa69047626febff0969cd29', '60c0926014e4ef521eb998ebc5245ed2', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 9 page 3 tells of harbour 93.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.318836+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('c3cee877275302b219da46076e12f954', 4, '74c731c440990deba563eb0d7bb2664b', '60c0926014e4ef521eb998ebc5245ed2', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 9 page 4 tells of harbour 94.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.323489+00', '[]', NULL, 0, NULL, NULL, NULL, NULL);
INSERT INTO public.pages VALUES
	('c7152cdd6c43061a63b2965234ebbce8', 1, '2f228129df9287dbf6650a03d1b9a188', '664c883216a9e09cbbf2d1ffb306eadb', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 10 page 1 tells of harbour 101.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.330722+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('c7152cdd6c43061a63b2965234ebbce8', 2, 'c0f49a9cdb9184ff18202ce8fcf0b2f2', '664c883216a9e09cbbf2d1ffb306eadb', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 10 page 2 tells of harbour 102.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.339554+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('c7152cdd6c43061a63b2965234ebbce8', 3, '33af39a8404f9fe966baafcd356350d0', '664c883216a9e09cbbf2d1ffb306eadb', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 10 page 3 tells of harbour 103.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.344226+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('c7152cdd6c43061a63b2965234ebbce8', 4, '461ac1b6f47f4c0208c277edcd74478e', '664c883216a9e09cbbf2d1ffb306eadb', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 10 page 4 tells of harbour 104.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.354216+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('32557799fbe1e15ce7964e6d7668c6ed', 1, '494c3fcf8dd9931d371ba6fa988f167a', '0d7990676f50bf8c5a7ebae95eac0876', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 11 page 1 tells of harbour 111.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.358879+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('32557799fbe1e15ce7964e6d7668c6ed', 2, '9d3cac2baca996d212610ae9fc414824', '0d7990676f50bf8c5a7ebae95eac0876', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 11 page 2 tells of harbour 112.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.370983+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('32557799fbe1e15ce7964e6d7668c6ed', 3, '977c8b49c2e669bf44da6f0d280a8f21', '0d7990676f50bf8c5a7ebae95eac0876', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 11 page 3 tells of harbour 113.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.375256+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('32557799fbe1e15ce7964e6d7668c6ed', 4, '36c86aa9f3b1b684708882dbb9d66ee0', '0d7990676f50bf8c5a7ebae95eac0876', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 11 page 4 tells of harbour 114.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:32.380082+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('7366d1c5b2ec130b24d47cfa0698df9d', 1, 'afbe0dbd1fbd33244eac56c04b6844c3', '263bd3a4ace81e3fa2d540ff41fffb64', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 12 page 1 tells of harbour 121.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:33.336437+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('7366d1c5b2ec130b24d47cfa0698df9d', 2, '81348686fcc536e97e1fd267fcab70a8', '263bd3a4ace81e3fa2d540ff41fffb64', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 12 page 2 tells of harbour 122.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:33.341093+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('7366d1c5b2ec130b24d47cfa0698df9d', 3, 'c205796aa1c56251dccd88ec1ae23e8a', '263bd3a4ace81e3fa2d540ff41fffb64', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 12 page 3 tells of harbour 123.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:33.344852+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('7366d1c5b2ec130b24d47cfa0698df9d', 4, '480b1217414ef21d30d9bc687990fadf', '263bd3a4ace81e3fa2d540ff41fffb64', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 12 page 4 tells of harbour 124.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:33.348735+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('a545d14889c3bcffe584dd4d71e20065', 1, 'cb0bdb6732358055c3980dcf99cb63ee', '99605b9fa291b0179c0a6bbbf79a2d1f', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 13 page 1 tells of harbour 131.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:33.35286+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('a545d14889c3bcffe584dd4d71e20065', 2, '9dfafd338213b16b8f0257577d12fcf9', '99605b9fa291b0179c0a6bbbf79a2d1f', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 13 page 2 tells of harbour 132.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:33.357067+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('a545d14889c3bcffe584dd4d71e20065', 3, '9188ea863ce320286e73f0a678a4e3b6', '99605b9fa291b0179c0a6bbbf79a2d1f', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 13 page 3 tells of harbour 133.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:33.361232+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('a545d14889c3bcffe584dd4d71e20065', 4, '11173fd59d6429587c848900b8cb6860', '99605b9fa291b0179c0a6bbbf79a2d1f', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 13 page 4 tells of harbour 134.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:33.365441+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('245ec9d1be1e60ff2c554d15e622a69d', 1, '71f7ddb8d95dec32ec6858e5999f0fe4', 'b8d707b054918132c1ddb5560b5fda7a', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 14 page 1 tells of harbour 141.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:33.370117+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('245ec9d1be1e60ff2c554d15e622a69d', 2, '2619fc92a8f55de2d54b7023debe25be', 'b8d707b054918132c1ddb5560b5fda7a', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 14 page 2 tells of harbour 142.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:33.374174+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('245ec9d1be1e60ff2c554d15e622a69d', 3, 'c21d88edadcedd0ad9be77cdcf8cf0aa', 'b8d707b054918132c1ddb5560b5fda7a', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 14 page 3 tells of harbour 143.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:33.377542+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('245ec9d1be1e60ff2c554d15e622a69d', 4, 'a3c2ad0f510f4abd679ba1b52db4559b', 'b8d707b054918132c1ddb5560b5fda7a', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 14 page 4 tells of harbour 144.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:33.381631+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('0112b420a57d2611a98e07693585d917', 1, '5d01f8d3b83ad3ece902214b132f00a6', '3274ff20c07d0a3b3a21dbcdbd69818b', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 15 page 1 tells of harbour 151.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:33.386009+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('0112b420a57d2611a98e07693585d917', 2, 'a127b73115de720ddf489c2f8deba165', '3274ff20c07d0a3b3a21dbcdbd69818b', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 15 page 2 tells of harbour 152.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:33.390626+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('0112b420a57d2611a98e07693585d917', 3, '1fb9ee4394855a691b9b579d9165ca15', '3274ff20c07d0a3b3a21dbcdbd69818b', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 15 page 3 tells of harbour 153.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:33.395167+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('0112b420a57d2611a98e07693585d917', 4, 'a54958031f564efe81d7ccfed7bd647c', '3274ff20c07d0a3b3a21dbcdbd69818b', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 15 page 4 tells of harbour 154.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:33.399556+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('f560742fa73c7d8feee1399ec5504923', 1, '4cb09d1ce5c2b57094e59547977130c5', '77fc89288b83cb1ffa3f8ad4cf0a0c3d', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 16 page 1 tells of harbour 161.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:33.404112+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('f560742fa73c7d8feee1399ec5504923', 2, 'c4d0147129cdf90a097185e6585ef0e7', '77fc89288b83cb1ffa3f8ad4cf0a0c3d', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 16 page 2 tells of harbour 162.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:33.40836+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('f560742fa73c7d8feee1399ec5504923', 3, 'be1f4fd7481e31bea470d2b54bb4a9b3', '77fc89288b83cb1ffa3f8ad4cf0a0c3d', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 16 page 3 tells of harbour 163.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:33.412641+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('f560742fa73c7d8feee1399ec5504923', 4, 'd474da76cae246668314e6f203b37305', '77fc89288b83cb1ffa3f8ad4cf0a0c3d', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 16 page 4 tells of harbour 164.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:33.416974+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('4ecb6c20b6da2aabfe7e1d0ffa622109', 1, '3852e2f486302f3568b7ebe23ce00ba4', '22873685e4681c7350b67fb7ea181d26', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 17 page 1 tells of harbour 171.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:33.421598+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('4ecb6c20b6da2aabfe7e1d0ffa622109', 2, '659c960235ceb50013b9985aadea5269', '22873685e4681c7350b67fb7ea181d26', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'Book 17 page 2 tells of harbour 172.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:33.426259+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('25d01ef9007c8687379cc8a15ebfe610', 1, '0560591ce59aab5382acd89812c7273c', 'e0db0a767fdbb3e51aca58de60986a6b', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 'Item 0 tells of lighthouse 0.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:37.482859+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('30f883afb6cb1156b0d64bc0e77f2c68', 1, 'f23bac31e926d226307d6d9a89997ef5', 'a00e7ea0eb5ce57d33b9a9a00dfd74ea', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 'Item 3 tells of lighthouse 3.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:37.490205+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('a8352f06b1ad5f5f7458f513c9443c7d', 1, 'af0684059ddafcb8173c9f0170acdb00', 'ace9e605b4ec2d6688faf461fdde2ac0', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 'Item 2 tells of lighthouse 2.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:37.495897+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('0b61264f5c6837e157308183a32f0342', 1, 'db6437be01990b6faa67aa04633ddd08', 'c3dbcec65365081cb23d78286588864d', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 'Item 1 tells of lighthouse 1.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:37.501323+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('202cce35efd269faa2277a946565a39f', 1, '0c55244b45048fbb8ac712a0f397e7c1', 'a6302ff861d9a85c11a880948fd46b4d', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 'Item 4 tells of lighthouse 4.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:37.506452+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('02a6f286a72f3d3d1b93b29e06e0696e', 1, '099bcb6bc6bb901f60d66ffc76778323', '24096be50f11a4bfbf9bb024e398c03b', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 'Item 5 tells of lighthouse 5.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:37.511803+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('643c6ed5e4d057c40ea0de2c3550b9ef', 1, 'ae2aea2bded666071aa65e98df15ccd7', '81fc939d77fc3fff89f1289688da32ea', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 'Item 6 tells of lighthouse 6.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:37.517879+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('007938d4b40c5aa0170954672c382877', 1, '90fe875aa7e900cb67a2f9cdf198930e', '366fb4b13ef14c1214373a2661f8b075', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 'Item 7 tells of lighthouse 7.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:37.523164+00', '[]', NULL, 0, NULL, NULL, NULL, NULL),
	('bea52c03cdc338846d28f03e7c6c3c37', 1, 'c93b40998f8e8195c6eb68cc5804d020', '2ce91e2a5d2d3a4b2be83afe4e14ec6e', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 'Item 8 tells of lighthouse 8.', '[]', 'native', NULL, '[]', 1, 'reader-1', NULL, '2026-11-29 11:34:37.528241+00', '[]', NULL, 0, NULL, NULL, NULL, NULL);


--
-- Data for Name: provider_logouts; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: provider_sessions; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: rate_limits; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: refresh_tokens; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: relations; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: relation_evidence; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: resource_usage; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.resource_usage VALUES
	('b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'pages', 'minute', '2026-11-29 11:34:00+00', '00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000', 72),
	('b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'pages', 'hour', '2026-11-29 11:00:00+00', '00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000', 72),
	('b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'pages', 'day', '2026-11-29 00:00:00+00', '00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000', 72),
	('b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 'pages', 'month', '2026-11-01 00:00:00+00', '00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000', 72),
	('a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 'pages', 'minute', '2026-11-29 11:34:00+00', '00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000', 9),
	('a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 'pages', 'hour', '2026-11-29 11:00:00+00', '00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000', 9),
	('a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 'pages', 'day', '2026-11-29 00:00:00+00', '00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000', 9),
	('a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 'pages', 'month', '2026-11-01 00:00:00+00', '00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000', 9);


--
-- Data for Name: restart_needs; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: restarts; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: retention_rules; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: retention_turns; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: run_feedback; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: run_secrets; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: run_steps; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.run_steps VALUES
	('4f331d10-bc54-496e-87f0-cc6477bbfa90', 1, 'a3aa9f0c-10ad-4e90-a3e6-11d03a346754', 'd8dcc6e1-7e8e-4609-8636-89740a7a7562', 'model', 'chat', '{"about": null, "request": {"seed": null, "stop": [], "tools": [], "messages": [{"role": "user", "content": "b"}], "json_only": false, "max_tokens": 4096, "temperature": 0.7}}', 'eb28b7c7a4b1d5cd19065dae97e9698ada1e4814e21fecfed6fb15f0e64b293a', 'done', '{"ok": {"model": "m", "usage": {"estimated": false, "prompt_tokens": 10, "completion_tokens": 5}, "content": "", "cost_usd": 0.25, "fallbacks": [], "reasoning": "", "connection": "", "tool_calls": [{"id": "c1", "name": "act", "arguments": "{\"to\":\"b\"}"}], "finish_reason": "tool_calls"}}', 0, 10, 5, 0.25, '2026-11-29 11:34:37.745452+00'),
	('4f331d10-bc54-496e-87f0-cc6477bbfa90', 2, 'a3aa9f0c-10ad-4e90-a3e6-11d03a346754', 'd8dcc6e1-7e8e-4609-8636-89740a7a7562', 'approval', 'act', '{"reason": "it changes things", "arguments": {"to": "b"}}', '952c00c33c2f3d14ab47c50720f0f4a0dd276647e0128e25502fd3e5134175dd', 'started', '{"said": [["status", {"state": "waiting_approval"}], ["approval_required", {"approval": {"id": "972b3e19-af23-5d5b-b1d2-38a3bbef400d", "tool": "act", "digest": "ba32a0f0a846ee8d516759bfe15ce20b1dc9c868653016502ed04bfd9d088ce7", "reason": "it changes things", "category": "approval", "arguments": {"to": "b"}, "expires_at": "2026-11-30T11:34:37.748336+00:00"}}]]}', 0, 0, 0, 0.0, '2026-11-29 11:34:37.749415+00'),
	('bce0724e-d942-4b74-a8db-a6404adb17fe', 1, 'a3aa9f0c-10ad-4e90-a3e6-11d03a346754', 'd8dcc6e1-7e8e-4609-8636-89740a7a7562', 'model', 'chat', '{"about": null, "request": {"seed": null, "stop": [], "tools": [], "messages": [{"role": "user", "content": "c"}], "json_only": false, "max_tokens": 4096, "temperature": 0.7}}', '7308c65f49d17349dbb877229c7498af7c4c5dc1394696422625e27c6294694a', 'done', '{"ok": {"model": "m", "usage": {"estimated": false, "prompt_tokens": 10, "completion_tokens": 5}, "content": "", "cost_usd": 0.25, "fallbacks": [], "reasoning": "", "connection": "", "tool_calls": [{"id": "c1", "name": "act", "arguments": "{\"to\":\"b\"}"}], "finish_reason": "tool_calls"}}', 0, 10, 5, 0.25, '2026-11-29 11:34:37.758888+00'),
	('bce0724e-d942-4b74-a8db-a6404adb17fe', 2, 'a3aa9f0c-10ad-4e90-a3e6-11d03a346754', 'd8dcc6e1-7e8e-4609-8636-89740a7a7562', 'approval', 'act', '{"reason": "it changes things", "arguments": {"to": "c"}}', 'ce17bce30b88a344930058d46798a12717a6e7d33674108fd935125777ca03fc', 'started', '{"said": [["status", {"state": "waiting_approval"}], ["approval_required", {"approval": {"id": "3db8474f-e828-5e19-a307-d3b2fd45ea08", "tool": "act", "digest": "68357a739a1b9a395ccfcf53b914381e4241d1c62f21ce201dd9d2334a009abd", "reason": "it changes things", "category": "approval", "arguments": {"to": "c"}, "expires_at": "2026-11-30T11:34:37.760925+00:00"}}]]}', 0, 0, 0, 0.0, '2026-11-29 11:34:37.761928+00'),
	('8cb2ce39-0a70-40b8-9af0-8692c8e4f419', 1, 'a3aa9f0c-10ad-4e90-a3e6-11d03a346754', 'd8dcc6e1-7e8e-4609-8636-89740a7a7562', 'model', 'chat', '{"about": null, "request": {"seed": null, "stop": [], "tools": [], "messages": [{"role": "user", "content": "d"}], "json_only": false, "max_tokens": 4096, "temperature": 0.7}}', '94fe8de0b97530b1dd85789c784d4910a7b76158a59990b48e3abce65764ca60', 'done', '{"ok": {"model": "m", "usage": {"estimated": false, "prompt_tokens": 10, "completion_tokens": 5}, "content": "", "cost_usd": 0.25, "fallbacks": [], "reasoning": "", "connection": "", "tool_calls": [{"id": "c1", "name": "act", "arguments": "{\"to\":\"b\"}"}], "finish_reason": "tool_calls"}}', 0, 10, 5, 0.25, '2026-11-29 11:34:37.768902+00'),
	('8cb2ce39-0a70-40b8-9af0-8692c8e4f419', 2, 'a3aa9f0c-10ad-4e90-a3e6-11d03a346754', 'd8dcc6e1-7e8e-4609-8636-89740a7a7562', 'approval', 'act', '{"reason": "it changes things", "arguments": {"to": "d"}}', '582b5b9053c90d67f774c8a8979a6a2ac0bc70e88d9520899bf9de24b9365f54', 'started', '{"said": [["status", {"state": "waiting_approval"}], ["approval_required", {"approval": {"id": "3628337f-0e86-5911-89a3-0a597a54394b", "tool": "act", "digest": "93e6d518819088f962c8e3b7ceea2cab0fad89ea437c291934cbb57899b63b52", "reason": "it changes things", "category": "approval", "arguments": {"to": "d"}, "expires_at": "2026-11-30T11:34:37.770978+00:00"}}]]}', 0, 0, 0, 0.0, '2026-11-29 11:34:37.772141+00');


--
-- Data for Name: schedules; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: schedule_runs; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: scim_people; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: session_summaries; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: settings_version; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.settings_version VALUES
	(true, 1);


--
-- Data for Name: sign_in_handoffs; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: skills; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: sources; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.sources VALUES
	('8259abb3-458b-44f2-a35a-b0928701578d', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 'one', 'shelf', '{}', NULL, '{}', '{}', false, NULL, 20, NULL, 72, true, '0', 'fb95d394-91e2-40b2-b46f-16499e7d09a6', NULL, '{"at": "2026-11-29T11:34:37.230128+00:00", "job": "fb95d394-91e2-40b2-b46f-16499e7d09a6", "counts": {"held": 0, "added": 9, "moved": 0, "faults": 0, "listed": 9, "rights": 0, "changed": 0, "removed": 0, "waiting": 0, "excluded": 0, "returned": 0, "unchanged": 0}, "reason": null, "dry_run": false, "samples": {"added": ["i0.txt", "i1.txt", "i2.txt", "i3.txt", "i4.txt", "i5.txt", "i6.txt", "i7.txt", "i8.txt"]}}', NULL, '2026-11-29 11:34:37.230128+00', NULL, NULL, NULL, '2026-11-29 11:34:37.221178+00');


--
-- Data for Name: source_items; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.source_items VALUES
	('8259abb3-458b-44f2-a35a-b0928701578d', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 'i0', 'i0.txt', '1', NULL, 'e0db0a767fdbb3e51aca58de60986a6b', NULL, NULL, NULL, NULL, NULL, '2026-11-29 11:34:37.261934+00'),
	('8259abb3-458b-44f2-a35a-b0928701578d', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 'i3', 'i3.txt', '1', NULL, 'a00e7ea0eb5ce57d33b9a9a00dfd74ea', NULL, NULL, NULL, NULL, NULL, '2026-11-29 11:34:37.271124+00'),
	('8259abb3-458b-44f2-a35a-b0928701578d', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 'i2', 'i2.txt', '1', NULL, 'ace9e605b4ec2d6688faf461fdde2ac0', NULL, NULL, NULL, NULL, NULL, '2026-11-29 11:34:37.288517+00'),
	('8259abb3-458b-44f2-a35a-b0928701578d', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 'i1', 'i1.txt', '1', NULL, 'c3dbcec65365081cb23d78286588864d', NULL, NULL, NULL, NULL, NULL, '2026-11-29 11:34:37.302326+00'),
	('8259abb3-458b-44f2-a35a-b0928701578d', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 'i4', 'i4.txt', '1', NULL, 'a6302ff861d9a85c11a880948fd46b4d', NULL, NULL, NULL, NULL, NULL, '2026-11-29 11:34:37.316064+00'),
	('8259abb3-458b-44f2-a35a-b0928701578d', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 'i5', 'i5.txt', '1', NULL, '24096be50f11a4bfbf9bb024e398c03b', NULL, NULL, NULL, NULL, NULL, '2026-11-29 11:34:37.324795+00'),
	('8259abb3-458b-44f2-a35a-b0928701578d', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 'i6', 'i6.txt', '1', NULL, '81fc939d77fc3fff89f1289688da32ea', NULL, NULL, NULL, NULL, NULL, '2026-11-29 11:34:37.330571+00'),
	('8259abb3-458b-44f2-a35a-b0928701578d', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 'i7', 'i7.txt', '1', NULL, '366fb4b13ef14c1214373a2661f8b075', NULL, NULL, NULL, NULL, NULL, '2026-11-29 11:34:37.336985+00'),
	('8259abb3-458b-44f2-a35a-b0928701578d', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 'i8', 'i8.txt', '1', NULL, '2ce91e2a5d2d3a4b2be83afe4e14ec6e', NULL, NULL, NULL, NULL, NULL, '2026-11-29 11:34:37.343307+00');


--
-- Data for Name: spend; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: system_settings; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: tenant_pages; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.tenant_pages VALUES
	('b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', 72),
	('a8cb1282-ac33-4289-b63b-9435891c2d76', 9);


--
-- Data for Name: tenant_turns; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: units; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.units OVERRIDING SYSTEM VALUE VALUES
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'survey', 'upload:0.txt', 'upload:0.txt', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 1, '', '{"origin": "upload:0.txt", "filename": "0.txt", "location": "file:@FOLDER@/0.txt"}', 'done', 0, NULL, '2026-11-29 11:34:31.974047+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'survey', 'upload:1.txt', 'upload:1.txt', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 2, '', '{"origin": "upload:1.txt", "filename": "1.txt", "location": "file:@FOLDER@/1.txt"}', 'done', 0, NULL, '2026-11-29 11:34:31.989384+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'survey', 'upload:2.txt', 'upload:2.txt', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 3, '', '{"origin": "upload:2.txt", "filename": "2.txt", "location": "file:@FOLDER@/2.txt"}', 'done', 0, NULL, '2026-11-29 11:34:32.003584+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'survey', 'upload:3.txt', 'upload:3.txt', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 4, '', '{"origin": "upload:3.txt", "filename": "3.txt", "location": "file:@FOLDER@/3.txt"}', 'done', 0, NULL, '2026-11-29 11:34:32.017421+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'survey', 'upload:4.txt', 'upload:4.txt', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 5, '', '{"origin": "upload:4.txt", "filename": "4.txt", "location": "file:@FOLDER@/4.txt"}', 'done', 0, NULL, '2026-11-29 11:34:32.03126+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'survey', 'upload:6.txt', 'upload:6.txt', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 7, '', '{"origin": "upload:6.txt", "filename": "6.txt", "location": "file:@FOLDER@/6.txt"}', 'done', 0, NULL, '2026-11-29 11:34:32.059873+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'survey', 'upload:7.txt', 'upload:7.txt', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 8, '', '{"origin": "upload:7.txt", "filename": "7.txt", "location": "file:@FOLDER@/7.txt"}', 'done', 0, NULL, '2026-11-29 11:34:32.072394+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'survey', 'upload:8.txt', 'upload:8.txt', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 9, '', '{"origin": "upload:8.txt", "filename": "8.txt", "location": "file:@FOLDER@/8.txt"}', 'done', 0, NULL, '2026-11-29 11:34:32.084955+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'survey', 'upload:9.txt', 'upload:9.txt', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 10, '', '{"origin": "upload:9.txt", "filename": "9.txt", "location": "file:@FOLDER@/9.txt"}', 'done', 0, NULL, '2026-11-29 11:34:32.097485+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'survey', 'upload:10.txt', 'upload:10.txt', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 11, '', '{"origin": "upload:10.txt", "filename": "10.txt", "location": "file:@FOLDER@/10.txt"}', 'done', 0, NULL, '2026-11-29 11:34:32.109685+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'survey', 'upload:11.txt', 'upload:11.txt', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 12, '', '{"origin": "upload:11.txt", "filename": "11.txt", "location": "file:@FOLDER@/11.txt"}', 'done', 0, NULL, '2026-11-29 11:34:32.118248+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'index', '1e3a7d5ae6092250df60ef06de7b70bd', '1e3a7d5ae6092250df60ef06de7b70bd', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 17, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:33.084141+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'index', 'be5f69cccda0877abb35375ede816613', 'be5f69cccda0877abb35375ede816613', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 22, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:33.099728+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'index', '2bbfd0beace43bbc9a3283d7bd2990ef', '2bbfd0beace43bbc9a3283d7bd2990ef', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 27, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:33.116356+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'index', 'a8a002ae7847d6c2d211bdf80da21401', 'a8a002ae7847d6c2d211bdf80da21401', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 32, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:33.131832+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'index', '623e470443dedc64687d4865826e7bfd', '623e470443dedc64687d4865826e7bfd', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 37, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:33.147058+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'survey', 'upload:5.txt', 'upload:5.txt', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 6, '', '{"origin": "upload:5.txt", "filename": "5.txt", "location": "file:@FOLDER@/5.txt"}', 'done', 0, NULL, '2026-11-29 11:34:32.046783+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'index', '2e10f4272b7b8cddf23436a6aa29b398', '2e10f4272b7b8cddf23436a6aa29b398', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 42, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:33.165317+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'index', 'a34637d39f24224c89b5f8fd74efe385', 'a34637d39f24224c89b5f8fd74efe385', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 47, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:33.178434+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'index', 'bf0956c58cddade7a92c3f762c8902fe', 'bf0956c58cddade7a92c3f762c8902fe', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 52, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:33.191121+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'index', '9aabe7d363e6c42687c883c7500d55d3', '9aabe7d363e6c42687c883c7500d55d3', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 57, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:33.207066+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', '0eee563b07d6f18f12ed085a242dcb9b', '2bbfd0beace43bbc9a3283d7bd2990ef', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 23, 'reader-1', '{"kind": "text", "number": 1, "version": "2bbfd0beace43bbc9a3283d7bd2990ef", "encoding": null, "language": null, "location": "file:@FOLDER@/2.txt", "mtime_ns": 1795952071901103900, "file_hash": "0ab445c6d45dbeb8794d776053245acd15547a46fde01d4ecb0d6c70ff9960ef", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:32.18827+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', '2153fa06f45feb20a071650a77322913', '2bbfd0beace43bbc9a3283d7bd2990ef', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 24, 'reader-1', '{"kind": "text", "number": 2, "version": "2bbfd0beace43bbc9a3283d7bd2990ef", "encoding": null, "language": null, "location": "file:@FOLDER@/2.txt", "mtime_ns": 1795952071901103900, "file_hash": "0ab445c6d45dbeb8794d776053245acd15547a46fde01d4ecb0d6c70ff9960ef", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:32.193897+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', '03c5af7c049774a1777bebeedbc96635', 'a8a002ae7847d6c2d211bdf80da21401', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 31, 'reader-1', '{"kind": "text", "number": 4, "version": "a8a002ae7847d6c2d211bdf80da21401", "encoding": null, "language": null, "location": "file:@FOLDER@/3.txt", "mtime_ns": 1795952071901278930, "file_hash": "f896a9aa0530a4c138dd3c87613a444d3760c0fda41312672edfeb747074e8fe", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:32.219337+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', '09f524fefb08c138265ca1afe1053fab', '2e10f4272b7b8cddf23436a6aa29b398', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 40, 'reader-1', '{"kind": "text", "number": 3, "version": "2e10f4272b7b8cddf23436a6aa29b398", "encoding": null, "language": null, "location": "file:@FOLDER@/5.txt", "mtime_ns": 1795952071901618975, "file_hash": "e4e806191e766bae570f03077442799b690ac1b69993615a631e38d40840bebe", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:32.248557+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', '1c5987026b144a3d6d8d99faf60b19b6', '9aabe7d363e6c42687c883c7500d55d3', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 56, 'reader-1', '{"kind": "text", "number": 4, "version": "9aabe7d363e6c42687c883c7500d55d3", "encoding": null, "language": null, "location": "file:@FOLDER@/8.txt", "mtime_ns": 1795952071902308539, "file_hash": "cd26be6674b78333a3fac4cbacc32cdf55496a143b3649979513c6ec789362ae", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:32.303524+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'index', 'c3cee877275302b219da46076e12f954', 'c3cee877275302b219da46076e12f954', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 62, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:33.220655+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'index', 'c7152cdd6c43061a63b2965234ebbce8', 'c7152cdd6c43061a63b2965234ebbce8', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 67, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:33.233812+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'index', '32557799fbe1e15ce7964e6d7668c6ed', '32557799fbe1e15ce7964e6d7668c6ed', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 72, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:33.241595+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', '6c494cbdf10c2280c544c88052e3f5c5', '2bbfd0beace43bbc9a3283d7bd2990ef', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 25, 'reader-1', '{"kind": "text", "number": 3, "version": "2bbfd0beace43bbc9a3283d7bd2990ef", "encoding": null, "language": null, "location": "file:@FOLDER@/2.txt", "mtime_ns": 1795952071901103900, "file_hash": "0ab445c6d45dbeb8794d776053245acd15547a46fde01d4ecb0d6c70ff9960ef", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:32.19943+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', '2f6f5ba6a984916c4150fcc4fc57194b', 'a8a002ae7847d6c2d211bdf80da21401', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 28, 'reader-1', '{"kind": "text", "number": 1, "version": "a8a002ae7847d6c2d211bdf80da21401", "encoding": null, "language": null, "location": "file:@FOLDER@/3.txt", "mtime_ns": 1795952071901278930, "file_hash": "f896a9aa0530a4c138dd3c87613a444d3760c0fda41312672edfeb747074e8fe", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:32.207692+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', '2e885430ad40ea500c977e9fba915def', 'a8a002ae7847d6c2d211bdf80da21401', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 30, 'reader-1', '{"kind": "text", "number": 3, "version": "a8a002ae7847d6c2d211bdf80da21401", "encoding": null, "language": null, "location": "file:@FOLDER@/3.txt", "mtime_ns": 1795952071901278930, "file_hash": "f896a9aa0530a4c138dd3c87613a444d3760c0fda41312672edfeb747074e8fe", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:32.215315+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', '4b3107057b5645bdc8393334b161f479', '2e10f4272b7b8cddf23436a6aa29b398', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 41, 'reader-1', '{"kind": "text", "number": 4, "version": "2e10f4272b7b8cddf23436a6aa29b398", "encoding": null, "language": null, "location": "file:@FOLDER@/5.txt", "mtime_ns": 1795952071901618975, "file_hash": "e4e806191e766bae570f03077442799b690ac1b69993615a631e38d40840bebe", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:32.252608+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', '22cd0b449ce3c70fdc4092de0a4094a9', 'bf0956c58cddade7a92c3f762c8902fe', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 48, 'reader-1', '{"kind": "text", "number": 1, "version": "bf0956c58cddade7a92c3f762c8902fe", "encoding": null, "language": null, "location": "file:@FOLDER@/7.txt", "mtime_ns": 1795952071902010997, "file_hash": "96596d748b88cd7266ff9f7145ea2e8216b10c4cbeed8ca6e0582da6967b241a", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:32.27432+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', '66f86c22438d0e9a2171a51058af97d9', 'bf0956c58cddade7a92c3f762c8902fe', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 49, 'reader-1', '{"kind": "text", "number": 2, "version": "bf0956c58cddade7a92c3f762c8902fe", "encoding": null, "language": null, "location": "file:@FOLDER@/7.txt", "mtime_ns": 1795952071902010997, "file_hash": "96596d748b88cd7266ff9f7145ea2e8216b10c4cbeed8ca6e0582da6967b241a", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:32.278568+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', '53d9b2ff6fcbb774433fa523b4c64ecc', 'bf0956c58cddade7a92c3f762c8902fe', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 50, 'reader-1', '{"kind": "text", "number": 3, "version": "bf0956c58cddade7a92c3f762c8902fe", "encoding": null, "language": null, "location": "file:@FOLDER@/7.txt", "mtime_ns": 1795952071902010997, "file_hash": "96596d748b88cd7266ff9f7145ea2e8216b10c4cbeed8ca6e0582da6967b241a", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:32.283073+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', '3c3ea0e3e155e05ea8cbe0d0eeba66fa', '9aabe7d363e6c42687c883c7500d55d3', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 53, 'reader-1', '{"kind": "text", "number": 1, "version": "9aabe7d363e6c42687c883c7500d55d3", "encoding": null, "language": null, "location": "file:@FOLDER@/8.txt", "mtime_ns": 1795952071902308539, "file_hash": "cd26be6674b78333a3fac4cbacc32cdf55496a143b3649979513c6ec789362ae", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:32.291643+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', '3cd5ba9c9aa69047626febff0969cd29', 'c3cee877275302b219da46076e12f954', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 60, 'reader-1', '{"kind": "text", "number": 3, "version": "c3cee877275302b219da46076e12f954", "encoding": null, "language": null, "location": "file:@FOLDER@/9.txt", "mtime_ns": 1795952071902489227, "file_hash": "44999d5084ce580ec1e0bcf3fa6fc269fc43fba0aab34032b1944a7a55b44a22", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:32.322066+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', '74c731c440990deba563eb0d7bb2664b', 'c3cee877275302b219da46076e12f954', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 61, 'reader-1', '{"kind": "text", "number": 4, "version": "c3cee877275302b219da46076e12f954", "encoding": null, "language": null, "location": "file:@FOLDER@/9.txt", "mtime_ns": 1795952071902489227, "file_hash": "44999d5084ce580ec1e0bcf3fa6fc269fc43fba0aab34032b1944a7a55b44a22", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:32.326372+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', '33af39a8404f9fe966baafcd356350d0', 'c7152cdd6c43061a63b2965234ebbce8', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 65, 'reader-1', '{"kind": "text", "number": 3, "version": "c7152cdd6c43061a63b2965234ebbce8", "encoding": null, "language": null, "location": "file:@FOLDER@/10.txt", "mtime_ns": 1795952071902669715, "file_hash": "20702ed0ab85c5530b966b6932fba5f1865f883a72f19f648d2b4b37d8c9ee86", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:32.347171+00', NULL, NULL);
INSERT INTO public.units OVERRIDING SYSTEM VALUE VALUES
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', '461ac1b6f47f4c0208c277edcd74478e', 'c7152cdd6c43061a63b2965234ebbce8', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 66, 'reader-1', '{"kind": "text", "number": 4, "version": "c7152cdd6c43061a63b2965234ebbce8", "encoding": null, "language": null, "location": "file:@FOLDER@/10.txt", "mtime_ns": 1795952071902669715, "file_hash": "20702ed0ab85c5530b966b6932fba5f1865f883a72f19f648d2b4b37d8c9ee86", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:32.35729+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', '494c3fcf8dd9931d371ba6fa988f167a', '32557799fbe1e15ce7964e6d7668c6ed', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 68, 'reader-1', '{"kind": "text", "number": 1, "version": "32557799fbe1e15ce7964e6d7668c6ed", "encoding": null, "language": null, "location": "file:@FOLDER@/11.txt", "mtime_ns": 1795952071902847469, "file_hash": "3ef6f2c351ffab0ac98b896fcf04954b5f0852c79861cfe073fbf18c2a7361f4", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:32.361814+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', '36c86aa9f3b1b684708882dbb9d66ee0', '32557799fbe1e15ce7964e6d7668c6ed', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 71, 'reader-1', '{"kind": "text", "number": 4, "version": "32557799fbe1e15ce7964e6d7668c6ed", "encoding": null, "language": null, "location": "file:@FOLDER@/11.txt", "mtime_ns": 1795952071902847469, "file_hash": "3ef6f2c351ffab0ac98b896fcf04954b5f0852c79861cfe073fbf18c2a7361f4", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:32.39659+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', '91dd0ea50c0ddf21ad96e8b3089879e5', '1e3a7d5ae6092250df60ef06de7b70bd', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 15, 'reader-1', '{"kind": "text", "number": 3, "version": "1e3a7d5ae6092250df60ef06de7b70bd", "encoding": null, "language": null, "location": "file:@FOLDER@/0.txt", "mtime_ns": 1795952071900506622, "file_hash": "f12e60b383fd47b5ca98d44dac0f2c9c2069e13ed62411646a56462493d10250", "file_size": 135}', 'done', 1, NULL, '2026-11-29 11:34:32.150487+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', 'b2cc6c4b42359bcd1deac426222e90a2', '1e3a7d5ae6092250df60ef06de7b70bd', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 16, 'reader-1', '{"kind": "text", "number": 4, "version": "1e3a7d5ae6092250df60ef06de7b70bd", "encoding": null, "language": null, "location": "file:@FOLDER@/0.txt", "mtime_ns": 1795952071900506622, "file_hash": "f12e60b383fd47b5ca98d44dac0f2c9c2069e13ed62411646a56462493d10250", "file_size": 135}', 'done', 1, NULL, '2026-11-29 11:34:32.156731+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', 'b5d81a8b2b9c313e38315121f7287211', 'be5f69cccda0877abb35375ede816613', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 19, 'reader-1', '{"kind": "text", "number": 2, "version": "be5f69cccda0877abb35375ede816613", "encoding": null, "language": null, "location": "file:@FOLDER@/1.txt", "mtime_ns": 1795952071900856142, "file_hash": "38f334b173f2deb0df9789840c18c48a536481384caec24160c820a7e37dc4eb", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:32.170133+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', '826ffb5bb8c505e9d0dc16821ead21dc', 'be5f69cccda0877abb35375ede816613', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 20, 'reader-1', '{"kind": "text", "number": 3, "version": "be5f69cccda0877abb35375ede816613", "encoding": null, "language": null, "location": "file:@FOLDER@/1.txt", "mtime_ns": 1795952071900856142, "file_hash": "38f334b173f2deb0df9789840c18c48a536481384caec24160c820a7e37dc4eb", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:32.175871+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', 'a88a5a94b0271915bcfce3cf844cd092', '2bbfd0beace43bbc9a3283d7bd2990ef', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 26, 'reader-1', '{"kind": "text", "number": 4, "version": "2bbfd0beace43bbc9a3283d7bd2990ef", "encoding": null, "language": null, "location": "file:@FOLDER@/2.txt", "mtime_ns": 1795952071901103900, "file_hash": "0ab445c6d45dbeb8794d776053245acd15547a46fde01d4ecb0d6c70ff9960ef", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:32.203548+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', 'ad95f6614b6677518f26aac518e7ee7b', 'a8a002ae7847d6c2d211bdf80da21401', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 29, 'reader-1', '{"kind": "text", "number": 2, "version": "a8a002ae7847d6c2d211bdf80da21401", "encoding": null, "language": null, "location": "file:@FOLDER@/3.txt", "mtime_ns": 1795952071901278930, "file_hash": "f896a9aa0530a4c138dd3c87613a444d3760c0fda41312672edfeb747074e8fe", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:32.21158+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', '969dc6a9b9b98fbac1d82b7745cf323e', '623e470443dedc64687d4865826e7bfd', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 33, 'reader-1', '{"kind": "text", "number": 1, "version": "623e470443dedc64687d4865826e7bfd", "encoding": null, "language": null, "location": "file:@FOLDER@/4.txt", "mtime_ns": 1795952071901444005, "file_hash": "edeb3c0fdd46a2b66b9ae5f2faa820f6980386eff459f255bc08e0954923d4b9", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:32.223676+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', '9d9d690994561c577dcbf502098ab7bc', '623e470443dedc64687d4865826e7bfd', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 34, 'reader-1', '{"kind": "text", "number": 2, "version": "623e470443dedc64687d4865826e7bfd", "encoding": null, "language": null, "location": "file:@FOLDER@/4.txt", "mtime_ns": 1795952071901444005, "file_hash": "edeb3c0fdd46a2b66b9ae5f2faa820f6980386eff459f255bc08e0954923d4b9", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:32.22766+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', '9473df5d7ed40cd5f5c7463fb0575797', '2e10f4272b7b8cddf23436a6aa29b398', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 38, 'reader-1', '{"kind": "text", "number": 1, "version": "2e10f4272b7b8cddf23436a6aa29b398", "encoding": null, "language": null, "location": "file:@FOLDER@/5.txt", "mtime_ns": 1795952071901618975, "file_hash": "e4e806191e766bae570f03077442799b690ac1b69993615a631e38d40840bebe", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:32.240274+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', '956ff9e0f346b0a28e652855e5b3967d', 'a34637d39f24224c89b5f8fd74efe385', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 43, 'reader-1', '{"kind": "text", "number": 1, "version": "a34637d39f24224c89b5f8fd74efe385", "encoding": null, "language": null, "location": "file:@FOLDER@/6.txt", "mtime_ns": 1795952071901782027, "file_hash": "20f6fd24f746a65a61009b7322b9b9d7da81603316db8ada7bc6c51143cbc701", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:32.2573+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', 'a1c7a8bacfff2e55aa418b22d5cb7cab', 'a34637d39f24224c89b5f8fd74efe385', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 44, 'reader-1', '{"kind": "text", "number": 2, "version": "a34637d39f24224c89b5f8fd74efe385", "encoding": null, "language": null, "location": "file:@FOLDER@/6.txt", "mtime_ns": 1795952071901782027, "file_hash": "20f6fd24f746a65a61009b7322b9b9d7da81603316db8ada7bc6c51143cbc701", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:32.26165+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', 'b7b7efee7ae810b084832270b57e66da', 'bf0956c58cddade7a92c3f762c8902fe', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 51, 'reader-1', '{"kind": "text", "number": 4, "version": "bf0956c58cddade7a92c3f762c8902fe", "encoding": null, "language": null, "location": "file:@FOLDER@/7.txt", "mtime_ns": 1795952071902010997, "file_hash": "96596d748b88cd7266ff9f7145ea2e8216b10c4cbeed8ca6e0582da6967b241a", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:32.287137+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', '9d3cac2baca996d212610ae9fc414824', '32557799fbe1e15ce7964e6d7668c6ed', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 69, 'reader-1', '{"kind": "text", "number": 2, "version": "32557799fbe1e15ce7964e6d7668c6ed", "encoding": null, "language": null, "location": "file:@FOLDER@/11.txt", "mtime_ns": 1795952071902847469, "file_hash": "3ef6f2c351ffab0ac98b896fcf04954b5f0852c79861cfe073fbf18c2a7361f4", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:32.373686+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', '977c8b49c2e669bf44da6f0d280a8f21', '32557799fbe1e15ce7964e6d7668c6ed', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 70, 'reader-1', '{"kind": "text", "number": 3, "version": "32557799fbe1e15ce7964e6d7668c6ed", "encoding": null, "language": null, "location": "file:@FOLDER@/11.txt", "mtime_ns": 1795952071902847469, "file_hash": "3ef6f2c351ffab0ac98b896fcf04954b5f0852c79861cfe073fbf18c2a7361f4", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:32.377542+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', '24cd2a9d709f0bbd992451f60b66815b', '1e3a7d5ae6092250df60ef06de7b70bd', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 13, 'reader-1', '{"kind": "text", "number": 1, "version": "1e3a7d5ae6092250df60ef06de7b70bd", "encoding": null, "language": null, "location": "file:@FOLDER@/0.txt", "mtime_ns": 1795952071900506622, "file_hash": "f12e60b383fd47b5ca98d44dac0f2c9c2069e13ed62411646a56462493d10250", "file_size": 135}', 'done', 1, NULL, '2026-11-29 11:34:32.137558+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', 'b194194bc4fe1d95e3618ce762a93b15', '1e3a7d5ae6092250df60ef06de7b70bd', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 14, 'reader-1', '{"kind": "text", "number": 2, "version": "1e3a7d5ae6092250df60ef06de7b70bd", "encoding": null, "language": null, "location": "file:@FOLDER@/0.txt", "mtime_ns": 1795952071900506622, "file_hash": "f12e60b383fd47b5ca98d44dac0f2c9c2069e13ed62411646a56462493d10250", "file_size": 135}', 'done', 1, NULL, '2026-11-29 11:34:32.14412+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', 'ba65980431759ecdfb2ba140ef976410', 'be5f69cccda0877abb35375ede816613', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 18, 'reader-1', '{"kind": "text", "number": 1, "version": "be5f69cccda0877abb35375ede816613", "encoding": null, "language": null, "location": "file:@FOLDER@/1.txt", "mtime_ns": 1795952071900856142, "file_hash": "38f334b173f2deb0df9789840c18c48a536481384caec24160c820a7e37dc4eb", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:32.163352+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', 'c7e05e6e0ae9fb6403fefa4144cf9aa6', 'be5f69cccda0877abb35375ede816613', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 21, 'reader-1', '{"kind": "text", "number": 4, "version": "be5f69cccda0877abb35375ede816613", "encoding": null, "language": null, "location": "file:@FOLDER@/1.txt", "mtime_ns": 1795952071900856142, "file_hash": "38f334b173f2deb0df9789840c18c48a536481384caec24160c820a7e37dc4eb", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:32.182243+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', 'e43a3ff203685543ff159114b6c09632', '623e470443dedc64687d4865826e7bfd', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 35, 'reader-1', '{"kind": "text", "number": 3, "version": "623e470443dedc64687d4865826e7bfd", "encoding": null, "language": null, "location": "file:@FOLDER@/4.txt", "mtime_ns": 1795952071901444005, "file_hash": "edeb3c0fdd46a2b66b9ae5f2faa820f6980386eff459f255bc08e0954923d4b9", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:32.231742+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', 'b7c041bae23d7f232624e5f24a2f4183', '623e470443dedc64687d4865826e7bfd', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 36, 'reader-1', '{"kind": "text", "number": 4, "version": "623e470443dedc64687d4865826e7bfd", "encoding": null, "language": null, "location": "file:@FOLDER@/4.txt", "mtime_ns": 1795952071901444005, "file_hash": "edeb3c0fdd46a2b66b9ae5f2faa820f6980386eff459f255bc08e0954923d4b9", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:32.235722+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', 'cf8ab5a67db2ebf3c8e4978f27b88826', '2e10f4272b7b8cddf23436a6aa29b398', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 39, 'reader-1', '{"kind": "text", "number": 2, "version": "2e10f4272b7b8cddf23436a6aa29b398", "encoding": null, "language": null, "location": "file:@FOLDER@/5.txt", "mtime_ns": 1795952071901618975, "file_hash": "e4e806191e766bae570f03077442799b690ac1b69993615a631e38d40840bebe", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:32.244536+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', 'f14002167163d1afb628ba1eee4606fd', 'a34637d39f24224c89b5f8fd74efe385', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 45, 'reader-1', '{"kind": "text", "number": 3, "version": "a34637d39f24224c89b5f8fd74efe385", "encoding": null, "language": null, "location": "file:@FOLDER@/6.txt", "mtime_ns": 1795952071901782027, "file_hash": "20f6fd24f746a65a61009b7322b9b9d7da81603316db8ada7bc6c51143cbc701", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:32.26567+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', 'd32ed5178bba79580feed59556ba63e2', 'a34637d39f24224c89b5f8fd74efe385', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 46, 'reader-1', '{"kind": "text", "number": 4, "version": "a34637d39f24224c89b5f8fd74efe385", "encoding": null, "language": null, "location": "file:@FOLDER@/6.txt", "mtime_ns": 1795952071901782027, "file_hash": "20f6fd24f746a65a61009b7322b9b9d7da81603316db8ada7bc6c51143cbc701", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:32.269742+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', '751ca1c028aefa16944c06feeb5d9ac9', '9aabe7d363e6c42687c883c7500d55d3', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 54, 'reader-1', '{"kind": "text", "number": 2, "version": "9aabe7d363e6c42687c883c7500d55d3", "encoding": null, "language": null, "location": "file:@FOLDER@/8.txt", "mtime_ns": 1795952071902308539, "file_hash": "cd26be6674b78333a3fac4cbacc32cdf55496a143b3649979513c6ec789362ae", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:32.296024+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', 'bcd83bdaf21825b4f05b3aea631a6045', '9aabe7d363e6c42687c883c7500d55d3', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 55, 'reader-1', '{"kind": "text", "number": 3, "version": "9aabe7d363e6c42687c883c7500d55d3", "encoding": null, "language": null, "location": "file:@FOLDER@/8.txt", "mtime_ns": 1795952071902308539, "file_hash": "cd26be6674b78333a3fac4cbacc32cdf55496a143b3649979513c6ec789362ae", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:32.299893+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', 'd96c155dba2ff08c1221e49c87fe6521', 'c3cee877275302b219da46076e12f954', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 58, 'reader-1', '{"kind": "text", "number": 1, "version": "c3cee877275302b219da46076e12f954", "encoding": null, "language": null, "location": "file:@FOLDER@/9.txt", "mtime_ns": 1795952071902489227, "file_hash": "44999d5084ce580ec1e0bcf3fa6fc269fc43fba0aab34032b1944a7a55b44a22", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:32.307494+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', 'd42a15b4b0fe3adbbf34d5eebc4f868f', 'c3cee877275302b219da46076e12f954', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 59, 'reader-1', '{"kind": "text", "number": 2, "version": "c3cee877275302b219da46076e12f954", "encoding": null, "language": null, "location": "file:@FOLDER@/9.txt", "mtime_ns": 1795952071902489227, "file_hash": "44999d5084ce580ec1e0bcf3fa6fc269fc43fba0aab34032b1944a7a55b44a22", "file_size": 139}', 'done', 1, NULL, '2026-11-29 11:34:32.31432+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', '2f228129df9287dbf6650a03d1b9a188', 'c7152cdd6c43061a63b2965234ebbce8', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 63, 'reader-1', '{"kind": "text", "number": 1, "version": "c7152cdd6c43061a63b2965234ebbce8", "encoding": null, "language": null, "location": "file:@FOLDER@/10.txt", "mtime_ns": 1795952071902669715, "file_hash": "20702ed0ab85c5530b966b6932fba5f1865f883a72f19f648d2b4b37d8c9ee86", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:32.333899+00', NULL, NULL),
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'fetch', 'i1', 'i1', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 110, '', '{"item": {"id": "i1", "path": "i1.txt", "size": 29, "rights": null, "version": "1", "fingerprint": null}, "origin": "source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i1", "readers": [], "document": null}', 'done', 1, NULL, '2026-11-29 11:34:37.303757+00', NULL, NULL),
	('97e4fb75-0c47-42a3-94b2-19016dbdd0ef', 'read', 'c0f49a9cdb9184ff18202ce8fcf0b2f2', 'c7152cdd6c43061a63b2965234ebbce8', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 64, 'reader-1', '{"kind": "text", "number": 2, "version": "c7152cdd6c43061a63b2965234ebbce8", "encoding": null, "language": null, "location": "file:@FOLDER@/10.txt", "mtime_ns": 1795952071902669715, "file_hash": "20702ed0ab85c5530b966b6932fba5f1865f883a72f19f648d2b4b37d8c9ee86", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:32.342886+00', NULL, NULL),
	('0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'index', '7366d1c5b2ec130b24d47cfa0698df9d', '7366d1c5b2ec130b24d47cfa0698df9d', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 83, '', '{}', 'pending', 0, NULL, NULL, NULL, NULL),
	('0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'survey', 'upload:12.txt', 'upload:12.txt', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 73, '', '{"origin": "upload:12.txt", "filename": "12.txt", "location": "file:@FOLDER@/12.txt"}', 'done', 0, NULL, '2026-11-29 11:34:33.283654+00', NULL, NULL),
	('0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'index', 'a545d14889c3bcffe584dd4d71e20065', 'a545d14889c3bcffe584dd4d71e20065', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 88, '', '{}', 'pending', 0, NULL, NULL, NULL, NULL),
	('0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'survey', 'upload:13.txt', 'upload:13.txt', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 74, '', '{"origin": "upload:13.txt", "filename": "13.txt", "location": "file:@FOLDER@/13.txt"}', 'done', 0, NULL, '2026-11-29 11:34:33.293237+00', NULL, NULL),
	('0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'survey', 'upload:14.txt', 'upload:14.txt', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 75, '', '{"origin": "upload:14.txt", "filename": "14.txt", "location": "file:@FOLDER@/14.txt"}', 'done', 0, NULL, '2026-11-29 11:34:33.302783+00', NULL, NULL),
	('0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'survey', 'upload:15.txt', 'upload:15.txt', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 76, '', '{"origin": "upload:15.txt", "filename": "15.txt", "location": "file:@FOLDER@/15.txt"}', 'done', 0, NULL, '2026-11-29 11:34:33.31168+00', NULL, NULL),
	('0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'survey', 'upload:16.txt', 'upload:16.txt', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 77, '', '{"origin": "upload:16.txt", "filename": "16.txt", "location": "file:@FOLDER@/16.txt"}', 'done', 0, NULL, '2026-11-29 11:34:33.320942+00', NULL, NULL);
INSERT INTO public.units OVERRIDING SYSTEM VALUE VALUES
	('0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'survey', 'upload:17.txt', 'upload:17.txt', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 78, '', '{"origin": "upload:17.txt", "filename": "17.txt", "location": "file:@FOLDER@/17.txt"}', 'done', 0, NULL, '2026-11-29 11:34:33.329718+00', NULL, NULL),
	('0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'read', '11173fd59d6429587c848900b8cb6860', 'a545d14889c3bcffe584dd4d71e20065', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 87, 'reader-1', '{"kind": "text", "number": 4, "version": "a545d14889c3bcffe584dd4d71e20065", "encoding": null, "language": null, "location": "file:@FOLDER@/13.txt", "mtime_ns": 1795952073256290599, "file_hash": "8a7799e382828d1b327a9fe3a84ff5af5e9ba1c8b393cbba770c61feafaa40ed", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:33.368654+00', NULL, NULL),
	('0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'index', '245ec9d1be1e60ff2c554d15e622a69d', '245ec9d1be1e60ff2c554d15e622a69d', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 93, '', '{}', 'pending', 0, NULL, NULL, NULL, NULL),
	('0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'index', '0112b420a57d2611a98e07693585d917', '0112b420a57d2611a98e07693585d917', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 98, '', '{}', 'pending', 0, NULL, NULL, NULL, NULL),
	('0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'index', 'f560742fa73c7d8feee1399ec5504923', 'f560742fa73c7d8feee1399ec5504923', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 103, '', '{}', 'pending', 0, NULL, NULL, NULL, NULL),
	('0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'index', '4ecb6c20b6da2aabfe7e1d0ffa622109', '4ecb6c20b6da2aabfe7e1d0ffa622109', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 108, '', '{}', 'pending', 0, NULL, NULL, NULL, NULL),
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'survey', 'source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i0', 'source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i0', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 118, '', '{"origin": "source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i0", "filename": "i0.txt", "location": "blob:a8cb1282-ac33-4289-b63b-9435891c2d76/201f1769-d30d-4ae8-8fbb-737d52c3077b/members/e0db0a767fdbb3e51aca58de60986a6b-329ab319010291c50fb529b53b5adfa71f7f56a2ad99d9c9867d6264e9f2f178"}', 'done', 0, NULL, '2026-11-29 11:34:37.378118+00', NULL, NULL),
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'survey', 'source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i4', 'source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i4', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 122, '', '{"origin": "source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i4", "filename": "i4.txt", "location": "blob:a8cb1282-ac33-4289-b63b-9435891c2d76/201f1769-d30d-4ae8-8fbb-737d52c3077b/members/a6302ff861d9a85c11a880948fd46b4d-18566740240c636c44efc7949b5d68b9a2fc9241be7112bda7f04f806f1f6a27"}', 'done', 0, NULL, '2026-11-29 11:34:37.431088+00', NULL, NULL),
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'index', '25d01ef9007c8687379cc8a15ebfe610', '25d01ef9007c8687379cc8a15ebfe610', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 128, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:37.577605+00', NULL, NULL),
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'index', '30f883afb6cb1156b0d64bc0e77f2c68', '30f883afb6cb1156b0d64bc0e77f2c68', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 130, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:37.588158+00', NULL, NULL),
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'index', 'a8352f06b1ad5f5f7458f513c9443c7d', 'a8352f06b1ad5f5f7458f513c9443c7d', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 132, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:37.599343+00', NULL, NULL),
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'index', '0b61264f5c6837e157308183a32f0342', '0b61264f5c6837e157308183a32f0342', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 134, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:37.61023+00', NULL, NULL),
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'index', '202cce35efd269faa2277a946565a39f', '202cce35efd269faa2277a946565a39f', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 136, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:37.621186+00', NULL, NULL),
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'index', '02a6f286a72f3d3d1b93b29e06e0696e', '02a6f286a72f3d3d1b93b29e06e0696e', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 138, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:37.633479+00', NULL, NULL),
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'index', '643c6ed5e4d057c40ea0de2c3550b9ef', '643c6ed5e4d057c40ea0de2c3550b9ef', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 140, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:37.643285+00', NULL, NULL),
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'index', '007938d4b40c5aa0170954672c382877', '007938d4b40c5aa0170954672c382877', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 142, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:37.652569+00', NULL, NULL),
	('0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'read', 'aebc1f227c9d0aca60c0feffebc36483', '4ecb6c20b6da2aabfe7e1d0ffa622109', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 106, 'reader-1', '{"kind": "text", "number": 3, "version": "4ecb6c20b6da2aabfe7e1d0ffa622109", "encoding": null, "language": null, "location": "file:@FOLDER@/17.txt", "mtime_ns": 1795952073257008826, "file_hash": "0e9154935d285e00412d3978aaa3d3c61a3dda0ed7ffa2bb91937e538c66ca47", "file_size": 147}', 'pending', 1, NULL, NULL, NULL, NULL),
	('0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'read', '81348686fcc536e97e1fd267fcab70a8', '7366d1c5b2ec130b24d47cfa0698df9d', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 80, 'reader-1', '{"kind": "text", "number": 2, "version": "7366d1c5b2ec130b24d47cfa0698df9d", "encoding": null, "language": null, "location": "file:@FOLDER@/12.txt", "mtime_ns": 1795952073256000999, "file_hash": "dfa08a382c5ff429565d9441eec0aa078f4ce0f5b54ba2bda3d46a0d2a370345", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:33.343734+00', NULL, NULL),
	('0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'read', '480b1217414ef21d30d9bc687990fadf', '7366d1c5b2ec130b24d47cfa0698df9d', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 82, 'reader-1', '{"kind": "text", "number": 4, "version": "7366d1c5b2ec130b24d47cfa0698df9d", "encoding": null, "language": null, "location": "file:@FOLDER@/12.txt", "mtime_ns": 1795952073256000999, "file_hash": "dfa08a382c5ff429565d9441eec0aa078f4ce0f5b54ba2bda3d46a0d2a370345", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:33.351565+00', NULL, NULL),
	('0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'read', '9dfafd338213b16b8f0257577d12fcf9', 'a545d14889c3bcffe584dd4d71e20065', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 85, 'reader-1', '{"kind": "text", "number": 2, "version": "a545d14889c3bcffe584dd4d71e20065", "encoding": null, "language": null, "location": "file:@FOLDER@/13.txt", "mtime_ns": 1795952073256290599, "file_hash": "8a7799e382828d1b327a9fe3a84ff5af5e9ba1c8b393cbba770c61feafaa40ed", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:33.360053+00', NULL, NULL),
	('0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'read', '71f7ddb8d95dec32ec6858e5999f0fe4', '245ec9d1be1e60ff2c554d15e622a69d', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 89, 'reader-1', '{"kind": "text", "number": 1, "version": "245ec9d1be1e60ff2c554d15e622a69d", "encoding": null, "language": null, "location": "file:@FOLDER@/14.txt", "mtime_ns": 1795952073256477877, "file_hash": "4bdd78a42ca65c1b02f4e111e6591616c1be75b0f46b01e2cc10be0113df29c0", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:33.372934+00', NULL, NULL),
	('0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'read', '2619fc92a8f55de2d54b7023debe25be', '245ec9d1be1e60ff2c554d15e622a69d', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 90, 'reader-1', '{"kind": "text", "number": 2, "version": "245ec9d1be1e60ff2c554d15e622a69d", "encoding": null, "language": null, "location": "file:@FOLDER@/14.txt", "mtime_ns": 1795952073256477877, "file_hash": "4bdd78a42ca65c1b02f4e111e6591616c1be75b0f46b01e2cc10be0113df29c0", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:33.376538+00', NULL, NULL),
	('0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'read', 'a3c2ad0f510f4abd679ba1b52db4559b', '245ec9d1be1e60ff2c554d15e622a69d', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 92, 'reader-1', '{"kind": "text", "number": 4, "version": "245ec9d1be1e60ff2c554d15e622a69d", "encoding": null, "language": null, "location": "file:@FOLDER@/14.txt", "mtime_ns": 1795952073256477877, "file_hash": "4bdd78a42ca65c1b02f4e111e6591616c1be75b0f46b01e2cc10be0113df29c0", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:33.384525+00', NULL, NULL),
	('0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'read', '5d01f8d3b83ad3ece902214b132f00a6', '0112b420a57d2611a98e07693585d917', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 94, 'reader-1', '{"kind": "text", "number": 1, "version": "0112b420a57d2611a98e07693585d917", "encoding": null, "language": null, "location": "file:@FOLDER@/15.txt", "mtime_ns": 1795952073256654379, "file_hash": "bd3d299a8d93012cbff4da78cf3f509c9144f6c8a3e9e40ca480fa6caba28aa7", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:33.389169+00', NULL, NULL),
	('0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'read', 'a127b73115de720ddf489c2f8deba165', '0112b420a57d2611a98e07693585d917', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 95, 'reader-1', '{"kind": "text", "number": 2, "version": "0112b420a57d2611a98e07693585d917", "encoding": null, "language": null, "location": "file:@FOLDER@/15.txt", "mtime_ns": 1795952073256654379, "file_hash": "bd3d299a8d93012cbff4da78cf3f509c9144f6c8a3e9e40ca480fa6caba28aa7", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:33.393691+00', NULL, NULL),
	('0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'read', '1fb9ee4394855a691b9b579d9165ca15', '0112b420a57d2611a98e07693585d917', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 96, 'reader-1', '{"kind": "text", "number": 3, "version": "0112b420a57d2611a98e07693585d917", "encoding": null, "language": null, "location": "file:@FOLDER@/15.txt", "mtime_ns": 1795952073256654379, "file_hash": "bd3d299a8d93012cbff4da78cf3f509c9144f6c8a3e9e40ca480fa6caba28aa7", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:33.398287+00', NULL, NULL),
	('0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'read', 'a54958031f564efe81d7ccfed7bd647c', '0112b420a57d2611a98e07693585d917', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 97, 'reader-1', '{"kind": "text", "number": 4, "version": "0112b420a57d2611a98e07693585d917", "encoding": null, "language": null, "location": "file:@FOLDER@/15.txt", "mtime_ns": 1795952073256654379, "file_hash": "bd3d299a8d93012cbff4da78cf3f509c9144f6c8a3e9e40ca480fa6caba28aa7", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:33.402609+00', NULL, NULL),
	('0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'read', '4cb09d1ce5c2b57094e59547977130c5', 'f560742fa73c7d8feee1399ec5504923', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 99, 'reader-1', '{"kind": "text", "number": 1, "version": "f560742fa73c7d8feee1399ec5504923", "encoding": null, "language": null, "location": "file:@FOLDER@/16.txt", "mtime_ns": 1795952073256828468, "file_hash": "8c0d3fb9d264a4cb2a5d04284025c0c5141903ce22e6ae110109554fa2782bc5", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:33.407097+00', NULL, NULL),
	('0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'read', '3852e2f486302f3568b7ebe23ce00ba4', '4ecb6c20b6da2aabfe7e1d0ffa622109', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 104, 'reader-1', '{"kind": "text", "number": 1, "version": "4ecb6c20b6da2aabfe7e1d0ffa622109", "encoding": null, "language": null, "location": "file:@FOLDER@/17.txt", "mtime_ns": 1795952073257008826, "file_hash": "0e9154935d285e00412d3978aaa3d3c61a3dda0ed7ffa2bb91937e538c66ca47", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:33.424791+00', NULL, NULL),
	('0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'read', '659c960235ceb50013b9985aadea5269', '4ecb6c20b6da2aabfe7e1d0ffa622109', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 105, 'reader-1', '{"kind": "text", "number": 2, "version": "4ecb6c20b6da2aabfe7e1d0ffa622109", "encoding": null, "language": null, "location": "file:@FOLDER@/17.txt", "mtime_ns": 1795952073257008826, "file_hash": "0e9154935d285e00412d3978aaa3d3c61a3dda0ed7ffa2bb91937e538c66ca47", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:33.429101+00', NULL, NULL),
	('0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'read', 'bbd4d5640dd739cd6ddc2eee2b236575', '4ecb6c20b6da2aabfe7e1d0ffa622109', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 107, 'reader-1', '{"kind": "text", "number": 4, "version": "4ecb6c20b6da2aabfe7e1d0ffa622109", "encoding": null, "language": null, "location": "file:@FOLDER@/17.txt", "mtime_ns": 1795952073257008826, "file_hash": "0e9154935d285e00412d3978aaa3d3c61a3dda0ed7ffa2bb91937e538c66ca47", "file_size": 147}', 'pending', 1, NULL, NULL, NULL, NULL),
	('0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'read', 'afbe0dbd1fbd33244eac56c04b6844c3', '7366d1c5b2ec130b24d47cfa0698df9d', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 79, 'reader-1', '{"kind": "text", "number": 1, "version": "7366d1c5b2ec130b24d47cfa0698df9d", "encoding": null, "language": null, "location": "file:@FOLDER@/12.txt", "mtime_ns": 1795952073256000999, "file_hash": "dfa08a382c5ff429565d9441eec0aa078f4ce0f5b54ba2bda3d46a0d2a370345", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:33.339893+00', NULL, NULL),
	('0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'read', 'c205796aa1c56251dccd88ec1ae23e8a', '7366d1c5b2ec130b24d47cfa0698df9d', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 81, 'reader-1', '{"kind": "text", "number": 3, "version": "7366d1c5b2ec130b24d47cfa0698df9d", "encoding": null, "language": null, "location": "file:@FOLDER@/12.txt", "mtime_ns": 1795952073256000999, "file_hash": "dfa08a382c5ff429565d9441eec0aa078f4ce0f5b54ba2bda3d46a0d2a370345", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:33.347695+00', NULL, NULL),
	('0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'read', 'cb0bdb6732358055c3980dcf99cb63ee', 'a545d14889c3bcffe584dd4d71e20065', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 84, 'reader-1', '{"kind": "text", "number": 1, "version": "a545d14889c3bcffe584dd4d71e20065", "encoding": null, "language": null, "location": "file:@FOLDER@/13.txt", "mtime_ns": 1795952073256290599, "file_hash": "8a7799e382828d1b327a9fe3a84ff5af5e9ba1c8b393cbba770c61feafaa40ed", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:33.355884+00', NULL, NULL),
	('0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'read', '9188ea863ce320286e73f0a678a4e3b6', 'a545d14889c3bcffe584dd4d71e20065', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 86, 'reader-1', '{"kind": "text", "number": 3, "version": "a545d14889c3bcffe584dd4d71e20065", "encoding": null, "language": null, "location": "file:@FOLDER@/13.txt", "mtime_ns": 1795952073256290599, "file_hash": "8a7799e382828d1b327a9fe3a84ff5af5e9ba1c8b393cbba770c61feafaa40ed", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:33.364184+00', NULL, NULL),
	('0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'read', 'c21d88edadcedd0ad9be77cdcf8cf0aa', '245ec9d1be1e60ff2c554d15e622a69d', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 91, 'reader-1', '{"kind": "text", "number": 3, "version": "245ec9d1be1e60ff2c554d15e622a69d", "encoding": null, "language": null, "location": "file:@FOLDER@/14.txt", "mtime_ns": 1795952073256477877, "file_hash": "4bdd78a42ca65c1b02f4e111e6591616c1be75b0f46b01e2cc10be0113df29c0", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:33.380336+00', NULL, NULL),
	('0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'read', 'c4d0147129cdf90a097185e6585ef0e7', 'f560742fa73c7d8feee1399ec5504923', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 100, 'reader-1', '{"kind": "text", "number": 2, "version": "f560742fa73c7d8feee1399ec5504923", "encoding": null, "language": null, "location": "file:@FOLDER@/16.txt", "mtime_ns": 1795952073256828468, "file_hash": "8c0d3fb9d264a4cb2a5d04284025c0c5141903ce22e6ae110109554fa2782bc5", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:33.41136+00', NULL, NULL),
	('0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'read', 'be1f4fd7481e31bea470d2b54bb4a9b3', 'f560742fa73c7d8feee1399ec5504923', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 101, 'reader-1', '{"kind": "text", "number": 3, "version": "f560742fa73c7d8feee1399ec5504923", "encoding": null, "language": null, "location": "file:@FOLDER@/16.txt", "mtime_ns": 1795952073256828468, "file_hash": "8c0d3fb9d264a4cb2a5d04284025c0c5141903ce22e6ae110109554fa2782bc5", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:33.41561+00', NULL, NULL),
	('0f7a5b12-c979-4035-8c19-8a89af8d3c38', 'read', 'd474da76cae246668314e6f203b37305', 'f560742fa73c7d8feee1399ec5504923', 'b5e8b61a-6a7f-47df-aed6-3f98d69d78f3', '551899ca-9b5a-4f09-bde0-41de92ea58f3', 102, 'reader-1', '{"kind": "text", "number": 4, "version": "f560742fa73c7d8feee1399ec5504923", "encoding": null, "language": null, "location": "file:@FOLDER@/16.txt", "mtime_ns": 1795952073256828468, "file_hash": "8c0d3fb9d264a4cb2a5d04284025c0c5141903ce22e6ae110109554fa2782bc5", "file_size": 147}', 'done', 1, NULL, '2026-11-29 11:34:33.420039+00', NULL, NULL),
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'fetch', 'i0', 'i0', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 109, '', '{"item": {"id": "i0", "path": "i0.txt", "size": 29, "rights": null, "version": "1", "fingerprint": null}, "origin": "source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i0", "readers": [], "document": null}', 'done', 1, NULL, '2026-11-29 11:34:37.262757+00', NULL, NULL);
INSERT INTO public.units OVERRIDING SYSTEM VALUE VALUES
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'fetch', 'i3', 'i3', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 112, '', '{"item": {"id": "i3", "path": "i3.txt", "size": 29, "rights": null, "version": "1", "fingerprint": null}, "origin": "source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i3", "readers": [], "document": null}', 'done', 1, NULL, '2026-11-29 11:34:37.271526+00', NULL, NULL),
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'fetch', 'i2', 'i2', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 111, '', '{"item": {"id": "i2", "path": "i2.txt", "size": 29, "rights": null, "version": "1", "fingerprint": null}, "origin": "source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i2", "readers": [], "document": null}', 'done', 1, NULL, '2026-11-29 11:34:37.290013+00', NULL, NULL),
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'fetch', 'i4', 'i4', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 113, '', '{"item": {"id": "i4", "path": "i4.txt", "size": 29, "rights": null, "version": "1", "fingerprint": null}, "origin": "source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i4", "readers": [], "document": null}', 'done', 1, NULL, '2026-11-29 11:34:37.317514+00', NULL, NULL),
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'fetch', 'i5', 'i5', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 114, '', '{"item": {"id": "i5", "path": "i5.txt", "size": 29, "rights": null, "version": "1", "fingerprint": null}, "origin": "source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i5", "readers": [], "document": null}', 'done', 1, NULL, '2026-11-29 11:34:37.32521+00', NULL, NULL),
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'fetch', 'i6', 'i6', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 115, '', '{"item": {"id": "i6", "path": "i6.txt", "size": 29, "rights": null, "version": "1", "fingerprint": null}, "origin": "source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i6", "readers": [], "document": null}', 'done', 1, NULL, '2026-11-29 11:34:37.331392+00', NULL, NULL),
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'fetch', 'i7', 'i7', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 116, '', '{"item": {"id": "i7", "path": "i7.txt", "size": 29, "rights": null, "version": "1", "fingerprint": null}, "origin": "source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i7", "readers": [], "document": null}', 'done', 1, NULL, '2026-11-29 11:34:37.337744+00', NULL, NULL),
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'fetch', 'i8', 'i8', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 117, '', '{"item": {"id": "i8", "path": "i8.txt", "size": 29, "rights": null, "version": "1", "fingerprint": null}, "origin": "source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i8", "readers": [], "document": null}', 'done', 1, NULL, '2026-11-29 11:34:37.344082+00', NULL, NULL),
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'survey', 'source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i3', 'source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i3', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 119, '', '{"origin": "source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i3", "filename": "i3.txt", "location": "blob:a8cb1282-ac33-4289-b63b-9435891c2d76/201f1769-d30d-4ae8-8fbb-737d52c3077b/members/a00e7ea0eb5ce57d33b9a9a00dfd74ea-f97b220a89b1b23c19b59a276227c66bf3c632f5280c405b28ae6f36984a7ddc"}', 'done', 0, NULL, '2026-11-29 11:34:37.395958+00', NULL, NULL),
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'survey', 'source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i2', 'source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i2', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 120, '', '{"origin": "source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i2", "filename": "i2.txt", "location": "blob:a8cb1282-ac33-4289-b63b-9435891c2d76/201f1769-d30d-4ae8-8fbb-737d52c3077b/members/ace9e605b4ec2d6688faf461fdde2ac0-786f7ca3d1f453c23499da633ceb0ecaa036c72fe0de55f1f62cd7b7d6bcd9e8"}', 'done', 0, NULL, '2026-11-29 11:34:37.408046+00', NULL, NULL),
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'survey', 'source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i1', 'source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i1', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 121, '', '{"origin": "source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i1", "filename": "i1.txt", "location": "blob:a8cb1282-ac33-4289-b63b-9435891c2d76/201f1769-d30d-4ae8-8fbb-737d52c3077b/members/c3dbcec65365081cb23d78286588864d-6743165e93c0901b9cd1443f7f2757128688772e057c891e2ebdbc59190995ee"}', 'done', 0, NULL, '2026-11-29 11:34:37.419566+00', NULL, NULL),
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'survey', 'source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i5', 'source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i5', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 123, '', '{"origin": "source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i5", "filename": "i5.txt", "location": "blob:a8cb1282-ac33-4289-b63b-9435891c2d76/201f1769-d30d-4ae8-8fbb-737d52c3077b/members/24096be50f11a4bfbf9bb024e398c03b-ae86a2fb2bc6c0e08908266161b59556744f6b4b8089e40e6fe4fa04367e9744"}', 'done', 0, NULL, '2026-11-29 11:34:37.445469+00', NULL, NULL),
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'survey', 'source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i8', 'source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i8', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 126, '', '{"origin": "source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i8", "filename": "i8.txt", "location": "blob:a8cb1282-ac33-4289-b63b-9435891c2d76/201f1769-d30d-4ae8-8fbb-737d52c3077b/members/2ce91e2a5d2d3a4b2be83afe4e14ec6e-7fdd896d676486992fc55db47ec5fe974c4e7c5502e070be348222a00efe6199"}', 'done', 0, NULL, '2026-11-29 11:34:37.478684+00', NULL, NULL),
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'read', '0560591ce59aab5382acd89812c7273c', '25d01ef9007c8687379cc8a15ebfe610', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 127, 'reader-1', '{"kind": "text", "number": 1, "version": "25d01ef9007c8687379cc8a15ebfe610", "encoding": null, "language": null, "location": "blob:a8cb1282-ac33-4289-b63b-9435891c2d76/201f1769-d30d-4ae8-8fbb-737d52c3077b/members/e0db0a767fdbb3e51aca58de60986a6b-329ab319010291c50fb529b53b5adfa71f7f56a2ad99d9c9867d6264e9f2f178", "mtime_ns": 1795952077247115794, "file_hash": "329ab319010291c50fb529b53b5adfa71f7f56a2ad99d9c9867d6264e9f2f178", "file_size": 29}', 'done', 1, NULL, '2026-11-29 11:34:37.48878+00', NULL, NULL),
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'survey', 'source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i6', 'source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i6', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 124, '', '{"origin": "source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i6", "filename": "i6.txt", "location": "blob:a8cb1282-ac33-4289-b63b-9435891c2d76/201f1769-d30d-4ae8-8fbb-737d52c3077b/members/81fc939d77fc3fff89f1289688da32ea-a636f77ec74d906918f7150da6ad2a96400e59fd2e2c95c674cbf84cf647ef49"}', 'done', 0, NULL, '2026-11-29 11:34:37.456655+00', NULL, NULL),
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'survey', 'source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i7', 'source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i7', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 125, '', '{"origin": "source:8259abb3-458b-44f2-a35a-b0928701578d/fb95d394-91e2-40b2-b46f-16499e7d09a6/i7", "filename": "i7.txt", "location": "blob:a8cb1282-ac33-4289-b63b-9435891c2d76/201f1769-d30d-4ae8-8fbb-737d52c3077b/members/366fb4b13ef14c1214373a2661f8b075-43367386c151a8f7b8f8772736994f2f4f72a12d4296ba77d8535681a74ee361"}', 'done', 0, NULL, '2026-11-29 11:34:37.467615+00', NULL, NULL),
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'read', 'f23bac31e926d226307d6d9a89997ef5', '30f883afb6cb1156b0d64bc0e77f2c68', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 129, 'reader-1', '{"kind": "text", "number": 1, "version": "30f883afb6cb1156b0d64bc0e77f2c68", "encoding": null, "language": null, "location": "blob:a8cb1282-ac33-4289-b63b-9435891c2d76/201f1769-d30d-4ae8-8fbb-737d52c3077b/members/a00e7ea0eb5ce57d33b9a9a00dfd74ea-f97b220a89b1b23c19b59a276227c66bf3c632f5280c405b28ae6f36984a7ddc", "mtime_ns": 1795952077250553490, "file_hash": "f97b220a89b1b23c19b59a276227c66bf3c632f5280c405b28ae6f36984a7ddc", "file_size": 29}', 'done', 1, NULL, '2026-11-29 11:34:37.494584+00', NULL, NULL),
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'read', 'af0684059ddafcb8173c9f0170acdb00', 'a8352f06b1ad5f5f7458f513c9443c7d', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 131, 'reader-1', '{"kind": "text", "number": 1, "version": "a8352f06b1ad5f5f7458f513c9443c7d", "encoding": null, "language": null, "location": "blob:a8cb1282-ac33-4289-b63b-9435891c2d76/201f1769-d30d-4ae8-8fbb-737d52c3077b/members/ace9e605b4ec2d6688faf461fdde2ac0-786f7ca3d1f453c23499da633ceb0ecaa036c72fe0de55f1f62cd7b7d6bcd9e8", "mtime_ns": 1795952077247115794, "file_hash": "786f7ca3d1f453c23499da633ceb0ecaa036c72fe0de55f1f62cd7b7d6bcd9e8", "file_size": 29}', 'done', 1, NULL, '2026-11-29 11:34:37.500041+00', NULL, NULL),
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'read', 'db6437be01990b6faa67aa04633ddd08', '0b61264f5c6837e157308183a32f0342', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 133, 'reader-1', '{"kind": "text", "number": 1, "version": "0b61264f5c6837e157308183a32f0342", "encoding": null, "language": null, "location": "blob:a8cb1282-ac33-4289-b63b-9435891c2d76/201f1769-d30d-4ae8-8fbb-737d52c3077b/members/c3dbcec65365081cb23d78286588864d-6743165e93c0901b9cd1443f7f2757128688772e057c891e2ebdbc59190995ee", "mtime_ns": 1795952077247115794, "file_hash": "6743165e93c0901b9cd1443f7f2757128688772e057c891e2ebdbc59190995ee", "file_size": 29}', 'done', 1, NULL, '2026-11-29 11:34:37.505295+00', NULL, NULL),
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'read', '0c55244b45048fbb8ac712a0f397e7c1', '202cce35efd269faa2277a946565a39f', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 135, 'reader-1', '{"kind": "text", "number": 1, "version": "202cce35efd269faa2277a946565a39f", "encoding": null, "language": null, "location": "blob:a8cb1282-ac33-4289-b63b-9435891c2d76/201f1769-d30d-4ae8-8fbb-737d52c3077b/members/a6302ff861d9a85c11a880948fd46b4d-18566740240c636c44efc7949b5d68b9a2fc9241be7112bda7f04f806f1f6a27", "mtime_ns": 1795952077266624801, "file_hash": "18566740240c636c44efc7949b5d68b9a2fc9241be7112bda7f04f806f1f6a27", "file_size": 29}', 'done', 1, NULL, '2026-11-29 11:34:37.510524+00', NULL, NULL),
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'read', '099bcb6bc6bb901f60d66ffc76778323', '02a6f286a72f3d3d1b93b29e06e0696e', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 137, 'reader-1', '{"kind": "text", "number": 1, "version": "02a6f286a72f3d3d1b93b29e06e0696e", "encoding": null, "language": null, "location": "blob:a8cb1282-ac33-4289-b63b-9435891c2d76/201f1769-d30d-4ae8-8fbb-737d52c3077b/members/24096be50f11a4bfbf9bb024e398c03b-ae86a2fb2bc6c0e08908266161b59556744f6b4b8089e40e6fe4fa04367e9744", "mtime_ns": 1795952077278254486, "file_hash": "ae86a2fb2bc6c0e08908266161b59556744f6b4b8089e40e6fe4fa04367e9744", "file_size": 29}', 'done', 1, NULL, '2026-11-29 11:34:37.516542+00', NULL, NULL),
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'read', 'ae2aea2bded666071aa65e98df15ccd7', '643c6ed5e4d057c40ea0de2c3550b9ef', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 139, 'reader-1', '{"kind": "text", "number": 1, "version": "643c6ed5e4d057c40ea0de2c3550b9ef", "encoding": null, "language": null, "location": "blob:a8cb1282-ac33-4289-b63b-9435891c2d76/201f1769-d30d-4ae8-8fbb-737d52c3077b/members/81fc939d77fc3fff89f1289688da32ea-a636f77ec74d906918f7150da6ad2a96400e59fd2e2c95c674cbf84cf647ef49", "mtime_ns": 1795952077292851465, "file_hash": "a636f77ec74d906918f7150da6ad2a96400e59fd2e2c95c674cbf84cf647ef49", "file_size": 29}', 'done', 1, NULL, '2026-11-29 11:34:37.52182+00', NULL, NULL),
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'read', '90fe875aa7e900cb67a2f9cdf198930e', '007938d4b40c5aa0170954672c382877', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 141, 'reader-1', '{"kind": "text", "number": 1, "version": "007938d4b40c5aa0170954672c382877", "encoding": null, "language": null, "location": "blob:a8cb1282-ac33-4289-b63b-9435891c2d76/201f1769-d30d-4ae8-8fbb-737d52c3077b/members/366fb4b13ef14c1214373a2661f8b075-43367386c151a8f7b8f8772736994f2f4f72a12d4296ba77d8535681a74ee361", "mtime_ns": 1795952077310697692, "file_hash": "43367386c151a8f7b8f8772736994f2f4f72a12d4296ba77d8535681a74ee361", "file_size": 29}', 'done', 1, NULL, '2026-11-29 11:34:37.526942+00', NULL, NULL),
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'read', 'c93b40998f8e8195c6eb68cc5804d020', 'bea52c03cdc338846d28f03e7c6c3c37', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 143, 'reader-1', '{"kind": "text", "number": 1, "version": "bea52c03cdc338846d28f03e7c6c3c37", "encoding": null, "language": null, "location": "blob:a8cb1282-ac33-4289-b63b-9435891c2d76/201f1769-d30d-4ae8-8fbb-737d52c3077b/members/2ce91e2a5d2d3a4b2be83afe4e14ec6e-7fdd896d676486992fc55db47ec5fe974c4e7c5502e070be348222a00efe6199", "mtime_ns": 1795952077320777033, "file_hash": "7fdd896d676486992fc55db47ec5fe974c4e7c5502e070be348222a00efe6199", "file_size": 29}', 'done', 1, NULL, '2026-11-29 11:34:37.532162+00', NULL, NULL),
	('fb95d394-91e2-40b2-b46f-16499e7d09a6', 'index', 'bea52c03cdc338846d28f03e7c6c3c37', 'bea52c03cdc338846d28f03e7c6c3c37', 'a8cb1282-ac33-4289-b63b-9435891c2d76', '201f1769-d30d-4ae8-8fbb-737d52c3077b', 144, '', '{}', 'done', 1, NULL, '2026-11-29 11:34:37.66177+00', NULL, NULL);


--
-- Data for Name: upload_sessions; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: upload_parts; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: vision_pages; Type: TABLE DATA; Schema: public; Owner: postgres
--



--
-- Data for Name: webhooks; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.webhooks VALUES
	('baad3641-afb9-4aa2-95c4-bc8e8abc1bd9', '6f335f87-a96a-4844-86f0-75d7a3fe97c1', '2159bbfc-7868-40fd-b187-a0346f380849', 'crm', 'http://127.0.0.1:46051/hook', '{job.*}', '5c1df573-541b-46bb-8a6e-5cdd7aa18588', NULL, true, NULL, 1, '2026-11-29 11:34:37.98807+00', 'unavailable: 127.0.0.1 cannot be reached: ConnectError', NULL, '2026-11-29 11:34:37.814452+00', 'one', '2026-11-29 11:34:37.993042+00', 1, '2026-11-29 11:34:37.814452+00', '2026-11-29 11:34:37.814452+00');


--
-- Data for Name: webhook_deliveries; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.webhook_deliveries VALUES
	('baad3641-afb9-4aa2-95c4-bc8e8abc1bd9', 6, '6f335f87-a96a-4844-86f0-75d7a3fe97c1', '2159bbfc-7868-40fd-b187-a0346f380849', 'job:89ad8b7b-f717-4f9f-a2a5-8d10f3500726', 'pending', 0, '2026-11-29 11:34:37.851543+00', '2026-11-29 11:34:37.851543+00', NULL, NULL, NULL, NULL, 0),
	('baad3641-afb9-4aa2-95c4-bc8e8abc1bd9', 7, '6f335f87-a96a-4844-86f0-75d7a3fe97c1', '2159bbfc-7868-40fd-b187-a0346f380849', 'job:f33ffcbf-99d9-4479-9ee7-c67a78dff13d', 'pending', 0, '2026-11-29 11:34:37.852174+00', '2026-11-29 11:34:37.852174+00', NULL, NULL, NULL, NULL, 0),
	('baad3641-afb9-4aa2-95c4-bc8e8abc1bd9', 8, '6f335f87-a96a-4844-86f0-75d7a3fe97c1', '2159bbfc-7868-40fd-b187-a0346f380849', 'job:9a6e9a39-88ee-406c-96e1-5fa5c8442c5c', 'pending', 0, '2026-11-29 11:34:37.852693+00', '2026-11-29 11:34:37.852693+00', NULL, NULL, NULL, NULL, 0),
	('baad3641-afb9-4aa2-95c4-bc8e8abc1bd9', 9, '6f335f87-a96a-4844-86f0-75d7a3fe97c1', '2159bbfc-7868-40fd-b187-a0346f380849', 'job:1110c613-7e15-4d7f-81a6-af6cb5e4e25c', 'pending', 0, '2026-11-29 11:34:37.8532+00', '2026-11-29 11:34:37.8532+00', NULL, NULL, NULL, NULL, 0),
	('baad3641-afb9-4aa2-95c4-bc8e8abc1bd9', 10, '6f335f87-a96a-4844-86f0-75d7a3fe97c1', '2159bbfc-7868-40fd-b187-a0346f380849', 'job:aa98f354-1de9-465b-af85-7c805c910a22', 'pending', 0, '2026-11-29 11:34:37.853652+00', '2026-11-29 11:34:37.853652+00', NULL, NULL, NULL, NULL, 0),
	('baad3641-afb9-4aa2-95c4-bc8e8abc1bd9', 1, '6f335f87-a96a-4844-86f0-75d7a3fe97c1', '2159bbfc-7868-40fd-b187-a0346f380849', 'job:89ad8b7b-f717-4f9f-a2a5-8d10f3500726', 'pending', 1, '2026-11-29 11:34:37.844684+00', '2026-11-29 11:34:42.982623+00', '2026-11-29 11:34:37.982623+00', NULL, 'unavailable: 127.0.0.1 cannot be reached: ConnectError', NULL, 0),
	('baad3641-afb9-4aa2-95c4-bc8e8abc1bd9', 2, '6f335f87-a96a-4844-86f0-75d7a3fe97c1', '2159bbfc-7868-40fd-b187-a0346f380849', 'job:f33ffcbf-99d9-4479-9ee7-c67a78dff13d', 'pending', 1, '2026-11-29 11:34:37.846306+00', '2026-11-29 11:34:42.986319+00', '2026-11-29 11:34:37.986319+00', NULL, 'unavailable: 127.0.0.1 cannot be reached: ConnectError', NULL, 0),
	('baad3641-afb9-4aa2-95c4-bc8e8abc1bd9', 3, '6f335f87-a96a-4844-86f0-75d7a3fe97c1', '2159bbfc-7868-40fd-b187-a0346f380849', 'job:9a6e9a39-88ee-406c-96e1-5fa5c8442c5c', 'pending', 1, '2026-11-29 11:34:37.847076+00', '2026-11-29 11:34:42.986787+00', '2026-11-29 11:34:37.986787+00', NULL, 'unavailable: 127.0.0.1 cannot be reached: ConnectError', NULL, 0),
	('baad3641-afb9-4aa2-95c4-bc8e8abc1bd9', 4, '6f335f87-a96a-4844-86f0-75d7a3fe97c1', '2159bbfc-7868-40fd-b187-a0346f380849', 'job:1110c613-7e15-4d7f-81a6-af6cb5e4e25c', 'pending', 1, '2026-11-29 11:34:37.847745+00', '2026-11-29 11:34:42.98715+00', '2026-11-29 11:34:37.98715+00', NULL, 'unavailable: 127.0.0.1 cannot be reached: ConnectError', NULL, 0),
	('baad3641-afb9-4aa2-95c4-bc8e8abc1bd9', 5, '6f335f87-a96a-4844-86f0-75d7a3fe97c1', '2159bbfc-7868-40fd-b187-a0346f380849', 'job:aa98f354-1de9-465b-af85-7c805c910a22', 'pending', 1, '2026-11-29 11:34:37.848386+00', '2026-11-29 11:34:42.987489+00', '2026-11-29 11:34:37.987489+00', NULL, 'unavailable: 127.0.0.1 cannot be reached: ConnectError', NULL, 0);


--
-- Data for Name: webhook_secrets; Type: TABLE DATA; Schema: public; Owner: postgres
--

INSERT INTO public.webhook_secrets VALUES
	('053e40c9-e1c4-468b-a15b-b9228e78f53b', 'baad3641-afb9-4aa2-95c4-bc8e8abc1bd9', '6f335f87-a96a-4844-86f0-75d7a3fe97c1', '2159bbfc-7868-40fd-b187-a0346f380849', '\x0118520eedc4140c4abe036089294d588ea81aec1c0f047045afeb9c478444eb14637e14f1d23ed64ce8e5e2db4ff97d18241b2797a7d4588e0ac10bf8e4db64d0b18f7d9603159ff54a17bab6dde4158157ac49af5d46', '2026-11-29 11:34:37.816469+00', NULL);


--
-- Name: generations_id_seq; Type: SEQUENCE SET; Schema: public; Owner: postgres
--

SELECT pg_catalog.setval('public.generations_id_seq', 1, true);


--
-- Name: golden_questions_position_seq; Type: SEQUENCE SET; Schema: public; Owner: postgres
--

SELECT pg_catalog.setval('public.golden_questions_position_seq', 1, false);


--
-- Name: outbox_id_seq; Type: SEQUENCE SET; Schema: public; Owner: postgres
--

SELECT pg_catalog.setval('public.outbox_id_seq', 10, true);


--
-- Name: restarts_id_seq; Type: SEQUENCE SET; Schema: public; Owner: postgres
--

SELECT pg_catalog.setval('public.restarts_id_seq', 1, false);


--
-- Name: units_position_seq; Type: SEQUENCE SET; Schema: public; Owner: postgres
--

SELECT pg_catalog.setval('public.units_position_seq', 144, true);


--
-- PostgreSQL database dump complete
--


