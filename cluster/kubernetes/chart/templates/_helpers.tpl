{{/* What more than one manifest needs, once. */}}

{{/* The release's name in all names; 40 characters, so that KubeRay's longer ones fit. */}}
{{- define "aos.fullname" -}}
{{- $name := ternary .Release.Name (printf "%s-%s" .Release.Name .Chart.Name) (contains .Chart.Name .Release.Name) -}}
{{- $name | replace "." "-" | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* KubeRay calls the head's Service so. */}}
{{- define "aos.headService" -}}
{{ include "aos.fullname" . }}-head-svc
{{- end -}}

{{- define "aos.tag" -}}
{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{- define "aos.image" -}}
{{ .Values.image.repository }}:{{ include "aos.tag" . }}
{{- end -}}

{{/* By these all pods of the release are found. */}}
{{- define "aos.podLabels" -}}
app.kubernetes.io/part-of: aos
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "aos.labels" -}}
{{ include "aos.podLabels" . }}
app.kubernetes.io/name: aos
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{/* Names of Secrets and of the claim: the given ones, or those that the chart makes. */}}
{{- define "aos.secretsName" -}}
{{ .Values.secrets.existingSecret | default (printf "%s-secrets" (include "aos.fullname" .)) }}
{{- end -}}

{{- define "aos.tokenName" -}}
{{ .Values.ray.token.existingSecret | default (printf "%s-ray-token" (include "aos.fullname" .)) }}
{{- end -}}

{{- define "aos.rayRedisName" -}}
{{ .Values.ray.faultTolerance.existingSecret | default (printf "%s-ray-redis" (include "aos.fullname" .)) }}
{{- end -}}

{{- define "aos.tlsName" -}}
{{ .Values.ingress.tls.existingSecret | default (printf "%s-tls" (include "aos.fullname" .)) }}
{{- end -}}

{{- define "aos.claimName" -}}
{{ .Values.state.existingClaim | default (printf "%s-state" (include "aos.fullname" .)) }}
{{- end -}}

{{/* GPUs that are always there, over all groups. */}}
{{- define "aos.gpus" -}}
{{- $count := 0 -}}
{{- range .Values.workerGroups -}}
{{- if .enabled -}}{{- $count = add $count (mul .gpus .minReplicas) -}}{{- end -}}
{{- end -}}
{{- $count -}}
{{- end -}}

{{/* Settings that follow from the manifests; nobody may say them otherwise. */}}
{{- define "aos.fixedSettings" -}}
# Below the mount, not the mount itself: AOS wants a folder that its own account owns.
AOS_STATE_DIR: /srv/aos/state
AOS_RAY_ADDRESS: {{ include "aos.headService" . }}:6379
AOS_RAY_NUM_GPUS: {{ include "aos.gpus" . | quote }}
AOS_CONSOLE_API_URL: http://{{ include "aos.headService" . }}:8000
API_HOST: 0.0.0.0
API_PORT: "8000"
RAY_AUTH_MODE: token
{{- with .Values.blobs.url }}
AOS_BLOBS_URL: {{ . | quote }}
{{- end }}
{{- with .Values.blobs.endpoint }}
AOS_BLOBS_ENDPOINT: {{ . | quote }}
{{- end }}
{{- end -}}

{{/* Settings that `settings` may change. */}}
{{- define "aos.defaultSettings" -}}
AOS_PROFILE: prod
AOS_AGENTS_PLACEMENT: serve
AOS_HTTP_PROXIES: {{ .Values.network.podCidr }}
FORWARDED_ALLOW_IPS: 127.0.0.1,{{ .Values.network.podCidr }}
GRADIO_TEMP_DIR: /tmp/console
HF_HUB_OFFLINE: "1"
# Ray's, as in cluster.yaml.
RAY_USAGE_STATS_ENABLED: "0"
RAY_SERVE_ENABLE_HA_PROXY: "1"
RAY_SERVE_THROUGHPUT_OPTIMIZED: "1"
RAY_SERVE_HAPROXY_NBTHREAD: "2"
RAY_worker_niceness: "0"
RAY_worker_register_timeout_seconds: "300"
OMP_THREAD_LIMIT: "1"
{{- end -}}

{{/* Settings that are secret, as far as the product knows them; the schema lists those that `secrets.values` may have. */}}
{{- define "aos.secretSettings" -}}
[DATABASE_URL, DATABASE_ADMIN_URL, POSTGRES_PASSWORD, POSTGRES_ADMIN_PASSWORD, REDIS_URL, REDIS_PASSWORD, AUTH_SECRET_KEY,
 AOS_ADMIN_PASSWORD, AOS_MODELS_VAULT_KEY, AOS_BLOBS_ACCESS_KEY, AOS_BLOBS_SECRET_KEY, LLM_API_KEY, EMBEDDING_API_KEY,
 EMBEDDING_FORMER_API_KEY, RAG_RERANK_API_KEY, AOS_VLLM_API_KEY, AOS_RAY_STORE_URL, RAY_AUTH_TOKEN]
{{- end -}}

{{- define "aos.settings" -}}
{{- $fixed := include "aos.fixedSettings" . | fromYaml -}}
{{- $usual := include "aos.defaultSettings" . | fromYaml -}}
{{- /* Not merged: that takes an empty text for none, and what is emptied on purpose would keep its default. */ -}}
{{- range list .Values.settings $fixed -}}
{{- range $name, $value := . -}}{{- $_ := set $usual $name $value -}}{{- end -}}
{{- end -}}
{{- toYaml $usual -}}
{{- end -}}

{{- define "aos.envFrom" -}}
- configMapRef: {name: {{ include "aos.fullname" . }}-settings}
- secretRef: {name: {{ include "aos.secretsName" . | quote }}}
{{- end -}}

{{- define "aos.tokenEnv" -}}
- {name: RAY_AUTH_TOKEN, valueFrom: {secretKeyRef: {name: {{ include "aos.tokenName" . | quote }}, key: auth_token}}}
{{- end -}}

{{/* For `aos` in a pod that is not on Ray's head. */}}
{{- define "aos.clientEnv" -}}
{{ include "aos.tokenEnv" . }}
- {name: AOS_URL, value: "http://{{ include "aos.headService" . }}:8000"}
{{- end -}}

{{/* Pods are made anew where what they read at their start has changed; of Secrets of your own nothing is known here. */}}
{{- define "aos.checksums" -}}
checksum/settings: {{ include "aos.settings" . | sha256sum }}
checksum/secrets: {{ list .Values.secrets .Values.ray.token .Values.ray.faultTolerance | toJson | sha256sum }}
{{- end -}}

{{/* Kubernetes' strictest profile (restricted): not root, and a root file system that nobody writes to. */}}
{{- define "aos.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "aos.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{/* What every pod's spec begins with. enableServiceLinks is off: Kubernetes would add AOS_SERVICE_HOST and its like, which AOS
refuses as settings that it does not know. */}}
{{- define "aos.podSpec" -}}
enableServiceLinks: false
terminationGracePeriodSeconds: 60
securityContext:
  {{- include "aos.podSecurity" . | nindent 2 }}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - {name: {{ . | quote }}}
  {{- end }}
{{- end }}
{{- end -}}

{{- define "aos.placement" -}}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "aos.container" -}}
image: {{ include "aos.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  {{- include "aos.containerSecurity" . | nindent 2 }}
{{- end -}}

{{- define "aos.scratchMounts" -}}
- {name: tmp, mountPath: /tmp}
- {name: home, mountPath: /home/aos}
{{- end -}}

{{- define "aos.mounts" -}}
- {name: state, mountPath: /srv/aos}
{{ include "aos.scratchMounts" . }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "aos.rayMounts" -}}
{{ include "aos.mounts" . }}
- {name: ray-logs, mountPath: /tmp/ray}
- {name: shared-mem, mountPath: /dev/shm}
{{- end -}}

{{/* Every pod sees the same files: the state folder's keys are made once. */}}
{{- define "aos.volumes" -}}
- {name: state, persistentVolumeClaim: {claimName: {{ include "aos.claimName" . | quote }}}}
- {name: tmp, emptyDir: {sizeLimit: 20Gi}}
- {name: home, emptyDir: {sizeLimit: 1Gi}}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Of (dict "root" $ "objectStoreMiB" n): Ray's objects, and a GiB for who else shares memory. */}}
{{- define "aos.rayVolumes" -}}
{{ include "aos.volumes" .root }}
- {name: ray-logs, emptyDir: {sizeLimit: 10Gi}}
- {name: shared-mem, emptyDir: {medium: Memory, sizeLimit: {{ add .objectStoreMiB 1024 }}Mi}}
{{- end -}}

{{/* Of a count of MiB: what each of Ray's nodes is started with. The agent's port is what probes ask. */}}
{{- define "aos.rayStartParams" -}}
dashboard-agent-listen-port: "52365"
object-store-memory: {{ mul . 1048576 | toString | quote }}
{{- end -}}

{{/* A route of Ray's agent that needs no token. */}}
{{- define "aos.rayletAlive" -}}
httpGet: {path: /api/local_raylet_healthz, port: 52365}
initialDelaySeconds: 60
periodSeconds: 10
timeoutSeconds: 5
failureThreshold: 12
{{- end -}}

{{/* Of (dict "root" $ "name" name "group" group): a group of workers. */}}
{{- define "aos.workerGroup" -}}
groupName: {{ .name }}
replicas: {{ .group.minReplicas }}
minReplicas: {{ .group.minReplicas }}
maxReplicas: {{ .group.maxReplicas }}
rayStartParams:
  {{- include "aos.rayStartParams" .group.objectStoreMiB | nindent 2 }}
template:
  metadata:
    labels:
      {{- include "aos.podLabels" .root | nindent 6 }}
      app.kubernetes.io/component: worker
    annotations:
      {{- include "aos.checksums" .root | nindent 6 }}
  spec:
    {{- include "aos.podSpec" .root | nindent 4 }}
    restartPolicy: Never  # the operator makes another one: a Ray node is never the same again
    automountServiceAccountToken: false
    {{- with .group.runtimeClassName }}
    runtimeClassName: {{ . | quote }}
    {{- end }}
    {{- $tolerations := .group.tolerations }}
    {{- if .group.gpus }}
    {{- $tolerations = prepend $tolerations (dict "key" "nvidia.com/gpu" "operator" "Exists" "effect" "NoSchedule") }}
    {{- end }}
    {{- include "aos.placement" (dict "nodeSelector" .group.nodeSelector "tolerations" $tolerations) | nindent 4 }}
    topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: kubernetes.io/hostname
        whenUnsatisfiable: ScheduleAnyway
        labelSelector:
          matchLabels:
            {{- include "aos.podLabels" .root | nindent 12 }}
            ray.io/group: {{ .name }}
    containers:
      - name: ray-worker
        {{- include "aos.container" .root | nindent 8 }}
        envFrom:
          {{- include "aos.envFrom" .root | nindent 10 }}
        env:
          {{- include "aos.tokenEnv" .root | nindent 10 }}
        readinessProbe:
          httpGet: {path: /api/local_raylet_healthz, port: 52365}
          periodSeconds: 5
          timeoutSeconds: 5
          failureThreshold: 3
        livenessProbe:
          {{- include "aos.rayletAlive" . | nindent 10 }}
        resources:
          {{- range $kind := list "requests" "limits" }}
          {{ $kind }}:
            cpu: {{ $.group.cpu | toString | quote }}
            memory: {{ $.group.memory }}
            {{- if $.group.gpus }}
            nvidia.com/gpu: {{ $.group.gpus | toString | quote }}
            {{- end }}
          {{- end }}
        volumeMounts:
          {{- include "aos.rayMounts" .root | nindent 10 }}
    volumes:
      {{- include "aos.rayVolumes" (dict "root" .root "objectStoreMiB" .group.objectStoreMiB) | nindent 6 }}
{{- end -}}
