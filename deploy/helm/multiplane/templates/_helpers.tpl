{{/* Names. */}}
{{- define "multiplane.fullname" -}}
{{- /* A release may have dots in its name, a Service may not. */ -}}
{{- $release := .Release.Name | replace "." "-" -}}
{{- if contains .Chart.Name $release -}}
{{- $release | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" $release .Chart.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Object of a process: dict root, name. */}}
{{- define "multiplane.name" -}}
{{ include "multiplane.fullname" .root }}-{{ .name }}
{{- end -}}

{{- define "multiplane.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- with .shard }}
multiplane.io/shard: {{ . }}
{{- end }}
{{- end -}}

{{- define "multiplane.labels" -}}
{{ include "multiplane.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end -}}

{{/* Addresses. A server listens on the same port everywhere: each pod has an address of its own. */}}
{{- define "multiplane.url" -}}
https://{{ include "multiplane.name" . }}:{{ .port }}
{{- end -}}

{{- define "multiplane.externalUrl" -}}
{{- $host := required "externalHostname is required" .Values.externalHostname -}}
{{- $default := ternary "8443" "443" (eq .Values.kcpFrontProxy.service.type "LoadBalancer") -}}
{{- $port := .Values.externalPort | default $default | toString -}}
https://{{ $host }}{{ if ne $port "443" }}:{{ $port }}{{ end }}
{{- end -}}

{{/* dict root, image (values with image and tag). */}}
{{- define "multiplane.image" -}}
{{ .image.image }}:{{ .image.tag | default .root.Chart.AppVersion }}
{{- end -}}

{{/* What a PodDisruptionBudget allows: maxUnavailable where it is set, else minAvailable. */}}
{{- define "multiplane.disruptions" -}}
{{- if not (kindIs "invalid" .maxUnavailable) -}}
maxUnavailable: {{ .maxUnavailable }}
{{- else -}}
minAvailable: {{ .minAvailable }}
{{- end -}}
{{- end -}}

{{/* True for an IP address: "true" or nothing. */}}
{{- define "multiplane.isAddress" -}}
{{- if regexMatch "^[0-9.]+$|:" . }}true{{ end -}}
{{- end -}}

{{/* Values of one shard: `kcp`, and over it those of the shard. As YAML. */}}
{{- define "multiplane.shardValues" -}}
{{- mergeOverwrite (deepCopy .root.Values.kcp) (omit .shard "name") | toYaml -}}
{{- end -}}

{{/*
The folder of certificates, laid out as `multiplane pki init` does, so that flags and kubeconfigs are the same everywhere:
dict root, pairs (folder → Secret), authorities (names), kubeconfigs (files), keys (service account: true),
workspaceAuthority ("certificate", or "pair" with its key). Of every other authority only its certificate is mounted.
*/}}
{{- define "multiplane.pkiVolume" -}}
{{- $root := .root -}}
name: pki
projected:
  defaultMode: 0440
  sources:
    {{- range $folder, $secret := .pairs }}
    - secret:
        name: {{ $secret }}
        items:
          - {key: tls.crt, path: {{ $folder }}/tls.crt}
          - {key: tls.key, path: {{ $folder }}/tls.key}
    {{- end }}
    {{- range .authorities }}
    - secret:
        name: {{ include "multiplane.name" (dict "root" $root "name" .) }}
        items:
          - {key: tls.crt, path: {{ . }}.crt}
    {{- end }}
    {{- with .workspaceAuthority }}
    - secret:
        name: {{ include "multiplane.workspaceAuthority" $root }}
        items:
          - {key: tls.crt, path: workspace-ca.crt}
          {{- if eq . "pair" }}
          - {key: tls.key, path: workspace-ca.key}
          {{- end }}
    {{- end }}
    {{- if .serviceAccountKeys }}
    - secret:
        name: {{ include "multiplane.name" (dict "root" $root "name" "service-account") }}
        items:
          - {key: tls.key, path: service-account.key}
          - {key: tls.crt, path: service-account.pub}
    {{- end }}
    {{- with .kubeconfigs }}
    - configMap:
        name: {{ include "multiplane.name" (dict "root" $root "name" "kubeconfigs") }}
        items:
          {{- range . }}
          - {key: {{ . }}, path: {{ . }}}
          {{- end }}
    {{- end }}
    {{- range .extra }}
    - {{ toYaml . | nindent 6 | trim }}
    {{- end }}
{{- end -}}

{{/* Secret of the CA that signs certificates of workspaces; all shards have the same one. */}}
{{- define "multiplane.workspaceAuthority" -}}
{{- .Values.certificates.workspaceAuthority.secretName | default (include "multiplane.name" (dict "root" . "name" "workspace-ca")) -}}
{{- end -}}

{{/* Folder → Secret of this chart, for a list of folders: dict root, folders. As YAML. */}}
{{- define "multiplane.pairs" -}}
{{- range .folders }}
{{ . }}: {{ include "multiplane.name" (dict "root" $.root "name" .) }}
{{- end }}
{{- end -}}

{{/*
A Deployment, its Service and PodDisruptionBudget of one of our servers:
dict root, component, shard, name, values, image (values with image, tag and pullPolicy; default: kcp), args, port, nodePort,
pkiVolume, volumes, mounts, service (extra Service spec).
*/}}
{{- define "multiplane.server" -}}
{{- $name := include "multiplane.name" . -}}
{{- $values := .values -}}
{{- $image := .image | default .root.Values.kcp -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  labels: {{- include "multiplane.labels" . | nindent 4 }}
spec:
  replicas: {{ $values.replicas }}
  {{- with $values.strategy }}
  strategy: {{- toYaml . | nindent 4 }}
  {{- else }}
  strategy:
    type: RollingUpdate
    rollingUpdate: {maxUnavailable: 0, maxSurge: 1}
  {{- end }}
  selector:
    matchLabels: {{- include "multiplane.selector" . | nindent 6 }}
  template:
    metadata:
      labels: {{- include "multiplane.labels" . | nindent 8 }}
      annotations:
        # The process reads its certificates again by itself; what it reads only at its start is named here.
        checksum/config: {{ .checksum | default "" | quote }}
        {{- with $values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      automountServiceAccountToken: false
      enableServiceLinks: false
      # Longer than the server gives requests to end.
      terminationGracePeriodSeconds: 90
      {{- with .root.Values.global.imagePullSecrets }}
      imagePullSecrets: {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext: {{- mergeOverwrite (deepCopy $values.podSecurityContext) ($values.securityContext | default dict) | toYaml | nindent 8 }}
      {{- if $values.hostAliases.enabled }}
      hostAliases: {{- toYaml $values.hostAliases.values | nindent 8 }}
      {{- end }}
      {{- with $values.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.topologySpreadConstraints }}
      topologySpreadConstraints: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with $values.affinity }}
      affinity: {{- toYaml . | nindent 8 }}
      {{- else }}
      affinity:
        podAntiAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
            - weight: 100
              podAffinityTerm:
                topologyKey: kubernetes.io/hostname
                labelSelector:
                  matchLabels: {{- include "multiplane.selector" . | nindent 20 }}
      {{- end }}
      containers:
        - name: {{ .component }}
          image: {{ include "multiplane.image" (dict "root" .root "image" $image) }}
          imagePullPolicy: {{ $image.pullPolicy }}
          args:
            {{- range .args }}
            - {{ . | quote }}
            {{- end }}
            - --logging-format=json
            - --v={{ $values.v }}
            # Time for load balancers to notice.
            - --shutdown-delay-duration=5s
            {{- range $values.extraFlags }}
            - {{ . | quote }}
            {{- end }}
          ports:
            - {name: https, containerPort: {{ .port }}, protocol: TCP}
          startupProbe:
            httpGet: {path: /livez, port: https, scheme: HTTPS}
            periodSeconds: 2
            failureThreshold: 150
          livenessProbe:
            httpGet: {path: /livez, port: https, scheme: HTTPS}
            periodSeconds: 10
            timeoutSeconds: 15
            failureThreshold: 6
          readinessProbe:
            httpGet: {path: /readyz, port: https, scheme: HTTPS}
            periodSeconds: 5
            timeoutSeconds: 10
            failureThreshold: 3
          resources: {{- toYaml $values.resources | nindent 12 }}
          securityContext: {{- toYaml $values.containerSecurityContext | nindent 12 }}
          volumeMounts:
            - {name: pki, mountPath: /pki, readOnly: true}
            - {name: data, mountPath: /data}
            - {name: tmp, mountPath: /tmp}
            {{- range .mounts }}
            - {{ toYaml . | nindent 14 | trim }}
            {{- end }}
            {{- with $values.extraVolumeMounts }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
      volumes:
        - {{ .pkiVolume | nindent 10 | trim }}
        # Nothing that matters is stored here: objects are in etcd, replicas of them in NATS.
        - name: data
          emptyDir: {}
        - name: tmp
          emptyDir: {medium: Memory, sizeLimit: 64Mi}
        {{- range .volumes }}
        - {{ toYaml . | nindent 10 | trim }}
        {{- end }}
        {{- with $values.extraVolumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ $name }}
  labels: {{- include "multiplane.labels" . | nindent 4 }}
  {{- with (.service | default dict).annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  type: {{ (.service | default dict).type | default "ClusterIP" }}
  {{- with (.service | default dict).loadBalancerIP }}
  loadBalancerIP: {{ . }}
  {{- end }}
  {{- with (.service | default dict).sessionAffinity }}
  sessionAffinity: {{ . }}
  {{- end }}
  selector: {{- include "multiplane.selector" . | nindent 4 }}
  ports:
    - name: https
      port: {{ .port }}
      targetPort: https
      protocol: TCP
      {{- with .nodePort }}
      nodePort: {{ . }}
      {{- end }}
    {{- range .servicePorts }}
    - {{ toYaml . | nindent 6 | trim }}
    {{- end }}
{{- if and $values.podDisruptionBudget.enabled (gt (int $values.replicas) 1) }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ $name }}
  labels: {{- include "multiplane.labels" . | nindent 4 }}
spec:
  {{- include "multiplane.disruptions" $values.podDisruptionBudget | nindent 2 }}
  selector:
    matchLabels: {{- include "multiplane.selector" . | nindent 6 }}
{{- end }}
{{- if $values.monitoring.serviceMonitor.enabled }}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: {{ $name }}
  labels: {{- include "multiplane.labels" . | nindent 4 }}
spec:
  selector:
    matchLabels: {{- include "multiplane.selector" . | nindent 6 }}
  endpoints:
    - port: https
      scheme: https
      interval: {{ $values.monitoring.serviceMonitor.interval }}
      tlsConfig:
        serverName: {{ $name }}
        ca:
          secret: {name: {{ include "multiplane.name" (dict "root" .root "name" "serving-ca") }}, key: tls.crt}
        cert:
          secret: {name: {{ include "multiplane.name" (dict "root" .root "name" "metrics-reader") }}, key: tls.crt}
        keySecret: {name: {{ include "multiplane.name" (dict "root" .root "name" "metrics-reader") }}, key: tls.key}
{{- end }}
{{- end -}}

{{/* Flags that several servers have. */}}
{{- define "multiplane.natsServers" -}}
{{- if .Values.nats.servers -}}
{{ join "," .Values.nats.servers }}
{{- else -}}
nats://{{ include "multiplane.name" (dict "root" . "name" "nats") }}:4222
{{- end -}}
{{- end -}}

{{- define "multiplane.natsArgs" -}}
- --nats-servers={{ include "multiplane.natsServers" . }}
- --nats-stream={{ .Values.nats.stream }}
- --nats-subject-prefix={{ .Values.nats.subjectPrefix }}
- --nats-cafile=/pki/{{ include "multiplane.natsFolder" . }}/ca.crt
- --nats-certfile=/pki/{{ include "multiplane.natsFolder" . }}/tls.crt
- --nats-keyfile=/pki/{{ include "multiplane.natsFolder" . }}/tls.key
{{- end -}}

{{- define "multiplane.natsFolder" -}}nats-client{{- end -}}

{{/* The whole Secret of a client of the storage, with its authority. dict folder, secret. */}}
{{- define "multiplane.storageClient" -}}
secret:
  name: {{ .secret }}
  items:
    - {key: tls.crt, path: {{ .folder }}/tls.crt}
    - {key: tls.key, path: {{ .folder }}/tls.key}
    - {key: ca.crt, path: {{ .folder }}/ca.crt}
{{- end -}}

{{- define "multiplane.natsSecret" -}}
{{ .Values.nats.clientSecretName | default (include "multiplane.name" (dict "root" . "name" "storage-client")) }}
{{- end -}}

{{- define "multiplane.requestHeaderArgs" -}}
- --requestheader-client-ca-file=/pki/requestheader-ca.crt
- --requestheader-allowed-names={{ .allowedNames }}
- --requestheader-username-headers=X-Remote-User
- --requestheader-group-headers=X-Remote-Group
- --requestheader-extra-headers-prefix=X-Remote-Extra-
{{- end -}}
