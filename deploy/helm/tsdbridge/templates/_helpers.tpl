{{- define "tsdbridge.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "tsdbridge.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- else if contains (include "tsdbridge.name" .) .Release.Name }}
{{- .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "tsdbridge.name" .) | trunc 52 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "tsdbridge.selector" -}}
app.kubernetes.io/name: {{ include "tsdbridge.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: adapter
{{- end }}

{{- define "tsdbridge.common" -}}
app.kubernetes.io/name: {{ include "tsdbridge.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "tsdbridge.labels" -}}
{{ include "tsdbridge.common" . }}
app.kubernetes.io/component: adapter
{{- end }}

{{- define "tsdbridge.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "tsdbridge.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "tsdbridge.image" -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end }}

{{- /* stateful: a pod has a volume of its own. */}}
{{- define "tsdbridge.stateful" -}}
{{- if or (eq .Values.engine "embedded") .Values.persistence.enabled }}true{{ end }}
{{- end }}

{{- /* check refuses values that would lose points or cannot work. */}}
{{- define "tsdbridge.check" -}}
{{- if and (eq .Values.engine "embedded") (not .Values.persistence.enabled) }}
{{- fail "engine=embedded needs persistence.enabled=true: the store would be lost with the pod" }}
{{- end }}
{{- if eq .Values.engine "hbase" }}
{{- if not .Values.hbase.zookeeper }}
{{- fail "engine=hbase needs hbase.zookeeper (host:port,...)" }}
{{- end }}
{{- if and (or .Values.carbon.enabled .Values.opentsdb.enabled) (not .Values.persistence.enabled) }}
{{- fail "carbon.enabled and opentsdb.enabled need persistence.enabled=true: what they acknowledge is in a log on the disk before it is in HBase" }}
{{- end }}
{{- if and .Values.config.remote_write (not .Values.persistence.enabled) }}
{{- fail "config.remote_write needs persistence.enabled=true: what waits for a destination is in a spool on the disk, which would be lost with the pod" }}
{{- end }}
{{- end }}
{{- if and .Values.rules (hasKey .Values.config "rule_files") }}
{{- fail "config has rule_files, which the chart sets from rules" }}
{{- end }}
{{- range $key := list "storage.engine" "storage.path" "hbase.zookeeper" "web.listen-address" "carbon.listen-address" "opentsdb.listen-address" "web.config.file" }}
{{- if hasKey $.Values.config $key }}
{{- fail (printf "config has %s, which the chart sets from its own values" $key) }}
{{- end }}
{{- end }}
{{- end }}

{{- define "tsdbridge.config" -}}
{{- $own := dict "storage.engine" .Values.engine "storage.path" "/data" "web.listen-address" ":9201" }}
{{- if eq .Values.engine "hbase" }}
{{- $_ := set $own "hbase.zookeeper" .Values.hbase.zookeeper }}
{{- $_ := set $own "write.mode" "through" }}
{{- end }}
{{- if .Values.carbon.enabled }}
{{- $_ := set $own "carbon.listen-address" ":2003" }}
{{- end }}
{{- if .Values.opentsdb.enabled }}
{{- $_ := set $own "opentsdb.listen-address" ":4242" }}
{{- end }}
{{- if .Values.webConfigSecret }}
{{- $_ := set $own "web.config.file" "/etc/tsdbridge-web/web.yml" }}
{{- end }}
{{- if .Values.rules }}
{{- $_ := set $own "rule_files" (list "/etc/tsdbridge-rules/*") }}
{{- end }}
{{- merge (deepCopy .Values.config) $own | toYaml }}
{{- end }}

{{- define "tsdbridge.podSecurity" -}}
runAsNonRoot: true
runAsUser: 9201
runAsGroup: 9201
fsGroup: 9201
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "tsdbridge.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- define "tsdbridge.probe" -}}
httpGet:
  path: {{ .path }}
  port: http
  scheme: {{ .values.probes.scheme }}
  {{- with .values.probes.httpHeaders }}
  httpHeaders:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{- /* pod is the template of both kinds. */}}
{{- define "tsdbridge.pod" -}}
metadata:
  labels:
    {{- include "tsdbridge.labels" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    checksum/config: {{ include "tsdbridge.config" . | sha256sum }}
    {{- with .Values.rules }}
    checksum/rules: {{ toYaml . | sha256sum }}
    {{- end }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "tsdbridge.serviceAccount" . }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    {{- include "tsdbridge.podSecurity" . | nindent 4 }}
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  containers:
    - name: tsdbridge
      image: {{ include "tsdbridge.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [serve, --config.file=/etc/tsdbridge/tsdbridge.yml]
      securityContext:
        {{- include "tsdbridge.containerSecurity" . | nindent 8 }}
      {{- with .Values.extraEnv }}
      env:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.extraEnvFrom }}
      envFrom:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      ports:
        - {name: http, containerPort: 9201}
        {{- if .Values.carbon.enabled }}
        - {name: carbon, containerPort: 2003}
        - {name: carbon-udp, containerPort: 2003, protocol: UDP}
        {{- end }}
        {{- if .Values.opentsdb.enabled }}
        - {name: opentsdb, containerPort: 4242}
        {{- end }}
      startupProbe:
        {{- include "tsdbridge.probe" (dict "path" "/-/healthy" "values" .Values) | nindent 8 }}
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: {{ div .Values.probes.startSeconds 5 }}
      livenessProbe:
        {{- include "tsdbridge.probe" (dict "path" "/-/healthy" "values" .Values) | nindent 8 }}
        periodSeconds: 15
        timeoutSeconds: 10
        failureThreshold: 6
      readinessProbe:
        {{- include "tsdbridge.probe" (dict "path" "/-/ready" "values" .Values) | nindent 8 }}
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: 3
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - {name: config, mountPath: /etc/tsdbridge, readOnly: true}
        - {name: data, mountPath: /data}
        {{- if .Values.webConfigSecret }}
        - {name: web-config, mountPath: /etc/tsdbridge-web, readOnly: true}
        {{- end }}
        {{- if .Values.rules }}
        - {name: rules, mountPath: /etc/tsdbridge-rules, readOnly: true}
        {{- end }}
        {{- range .Values.secrets }}
        - {name: {{ printf "secret-%s" . | quote }}, mountPath: {{ printf "/etc/tsdbridge-secrets/%s" . | quote }}, readOnly: true}
        {{- end }}
  volumes:
    - name: config
      configMap:
        name: {{ include "tsdbridge.fullname" . }}
    {{- if .Values.webConfigSecret }}
    - name: web-config
      secret:
        secretName: {{ .Values.webConfigSecret }}
    {{- end }}
    {{- if .Values.rules }}
    - name: rules
      configMap:
        name: {{ include "tsdbridge.fullname" . }}-rules
    {{- end }}
    {{- range .Values.secrets }}
    - name: {{ printf "secret-%s" . | quote }}
      secret:
        secretName: {{ . | quote }}
    {{- end }}
    {{- if not (include "tsdbridge.stateful" .) }}
    - name: data
      emptyDir:
        sizeLimit: 1Gi
    {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
