{{- define "svc.name" -}}
{{- if contains "svc" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-svc" (.Release.Name | trunc 46 | trimSuffix "-") }}{{ end }}
{{- end }}

{{- define "svc.selector" -}}
app.kubernetes.io/name: svc
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "svc.labels" -}}
{{ include "svc.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name (.Chart.Version | replace "+" "_") }}
{{- end }}

{{- define "svc.image" -}}
{{- if .Values.image.digest }}{{ .Values.image.repository }}@{{ .Values.image.digest }}{{ else }}{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- define "svc.host" -}}
{{- regexReplaceAll ":[0-9]+$" (urlParse .).host "" }}
{{- end }}

{{/* The parts of a pod that all of them share. Takes a dict with root, store (whose key names the store) and keys. */}}
{{- define "svc.pod" -}}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.serviceAccountName }}
serviceAccountName: {{ . }}
{{- end }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext: {{- toYaml .root.Values.podSecurityContext | nindent 2 }}
{{- with .root.Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .root.Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  - name: secrets
    projected:
      # Readable by the pod's user, whoever that is.
      defaultMode: 0444
      sources:
        - secret:
            name: {{ .store.name }}
            items: [{ key: {{ .store.key | quote }}, path: store }]
        {{- if .keys }}
        - secret:
            name: {{ .root.Values.secrets.masterKey.name }}
            items: [{ key: {{ .root.Values.secrets.masterKey.key | quote }}, path: master-key }]
        {{- with .root.Values.secrets.masterKeyPrevious }}
        {{- if .name }}
        - secret:
            name: {{ .name }}
            items: [{ key: {{ .key | quote }}, path: master-key-previous }]
        {{- end }}
        {{- end }}
        {{- end }}
  {{- with .root.Values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{- define "svc.container" -}}
image: {{ include "svc.image" .root | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
volumeMounts:
  - { name: secrets, mountPath: /run/secrets/svc, readOnly: true }
  {{- with .root.Values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
env:
  - { name: SVC_STORE_FILE, value: /run/secrets/svc/store }
  {{- if .keys }}
  - { name: SVC_MASTER_KEY_FILE, value: /run/secrets/svc/master-key }
  {{- if .root.Values.secrets.masterKeyPrevious.name }}
  - { name: SVC_MASTER_KEY_PREVIOUS_FILE, value: /run/secrets/svc/master-key-previous }
  {{- end }}
  {{- end }}
  - { name: SVC_ENVIRONMENT, value: {{ .root.Values.environment | quote }} }
  - { name: SVC_BASE_URL, value: {{ .root.Values.baseUrl | quote }} }
  - { name: SVC_APPROVAL_BASE_URL, value: {{ .root.Values.approvalBaseUrl | quote }} }
  {{- if and .keys .root.Values.metrics.enabled }}
  - { name: SVC_METRICS_PORT, value: "9464" }
  {{- end }}
  {{- range $name, $value := .root.Values.settings }}
  - { name: {{ $name }}, value: {{ $value | toString | quote }} }
  {{- end }}
{{- end }}
