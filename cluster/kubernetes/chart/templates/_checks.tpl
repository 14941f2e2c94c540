{{/* What the schema cannot say: what has to be filled in, and what would contradict something else. Nothing is rendered, and all
that is amiss is said at once. */}}
{{- define "aos.checks" -}}
{{- $wrong := concat
  (include "aos.checks.filled" . | fromJsonArray)
  (include "aos.checks.settings" . | fromJsonArray)
  (include "aos.checks.groups" . | fromJsonArray) -}}
{{- if $wrong -}}
{{- printf "\n\nThese values do not fit:\n- %s\n" (join "\n- " $wrong) | fail -}}
{{- end -}}
{{- end -}}

{{- define "aos.checks.filled" -}}
{{- $wrong := list -}}
{{- if not (regexMatch "^[a-z]" .Release.Name) -}}
{{- $wrong = append $wrong (printf "the release is called %s: a name that begins with a letter, for Kubernetes takes no other for a Service" .Release.Name) -}}
{{- end -}}
{{- if not .Values.image.repository -}}
{{- $wrong = append $wrong "image.repository is empty: build the image with cluster/kubernetes/Containerfile, and say where it is" -}}
{{- end -}}
{{- if not .Values.secrets.existingSecret -}}
{{- range list "DATABASE_URL" "DATABASE_ADMIN_URL" "REDIS_URL" "AUTH_SECRET_KEY" "AOS_MODELS_VAULT_KEY" -}}
{{- if not (get $.Values.secrets.values .) -}}
{{- $wrong = append $wrong (printf "secrets.values.%s is empty, and secrets.existingSecret names no Secret that has it" .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if not (or .Values.ray.token.existingSecret .Values.ray.token.value) -}}
{{- $wrong = append $wrong "ray.token: existingSecret or value (openssl rand -hex 32)" -}}
{{- end -}}
{{- if and .Values.ray.faultTolerance.enabled (not .Values.ray.faultTolerance.redisAddress) -}}
{{- $wrong = append $wrong "ray.faultTolerance.redisAddress is empty: HOST:PORT of a Redis of Ray's own, or enabled: false" -}}
{{- end -}}
{{- with .Values.ingress -}}
{{- if .enabled -}}
{{- if not .host -}}
{{- $wrong = append $wrong "ingress.host is empty: the name that people type, or enabled: false" -}}
{{- end -}}
{{- if and .tls.enabled (not .tls.existingSecret) (not (and .tls.certificate .tls.key)) -}}
{{- $wrong = append $wrong "ingress.tls: existingSecret, or certificate and key" -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- with .Values.network.policies -}}
{{- if and .enabled (not .egress) -}}
{{- $wrong = append $wrong "network.policies.egress is empty: pods would reach no Postgres" -}}
{{- end -}}
{{- if and .enabled $.Values.ray.autoscaling.enabled (not .kubernetesApi) -}}
{{- $wrong = append $wrong "network.policies.kubernetesApi is empty: Ray's autoscaler would reach nobody (kubectl get endpoints kubernetes)" -}}
{{- end -}}
{{- end -}}
{{- toJson $wrong -}}
{{- end -}}

{{- define "aos.checks.settings" -}}
{{- $wrong := list -}}
{{- $fixed := include "aos.fixedSettings" . | fromYaml -}}
{{- $secret := include "aos.secretSettings" . | fromYamlArray -}}
{{- range $name, $_ := .Values.settings -}}
{{- if or (hasKey $fixed $name) (has $name (list "AOS_BLOBS_URL" "AOS_BLOBS_ENDPOINT")) -}}
{{- $wrong = append $wrong (printf "settings.%s: the chart says it itself, from other values" $name) -}}
{{- end -}}
{{- if has $name $secret -}}
{{- $wrong = append $wrong (printf "settings.%s: a secret, which everybody could read here; its place is secrets" $name) -}}
{{- end -}}
{{- end -}}
{{- range .Values.extraVolumes -}}
{{- if has .name (list "state" "tmp" "home" "ray-logs" "shared-mem") -}}
{{- $wrong = append $wrong (printf "extraVolumes: a volume is called %s already" .name) -}}
{{- end -}}
{{- end -}}
{{- toJson $wrong -}}
{{- end -}}

{{- define "aos.checks.groups" -}}
{{- $wrong := list -}}
{{- $least := 0 -}}
{{- range $name, $group := .Values.workerGroups -}}
{{- if $group.enabled -}}
{{- $least = add $least $group.minReplicas -}}
{{- if gt (int $group.minReplicas) (int $group.maxReplicas) -}}
{{- $wrong = append $wrong (printf "workerGroups.%s: minReplicas is above maxReplicas" $name) -}}
{{- end -}}
{{- if and $group.gpus (ne (int $group.minReplicas) (int $group.maxReplicas)) -}}
{{- $wrong = append $wrong (printf "workerGroups.%s has GPUs: minReplicas and maxReplicas must be equal, for replicas share all that are declared" $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if le (int $least) (int .Values.disruptionBudget.minAvailable) -}}
{{- $wrong = append $wrong (printf "disruptionBudget.minAvailable: of %d workers none could be taken, and no node drained" (int $least)) -}}
{{- end -}}
{{- toJson $wrong -}}
{{- end -}}
