{{- define "chant.name" -}}
{{ contains "chant" .Release.Name | ternary .Release.Name (printf "%s-chant" .Release.Name) | trunc 52 | trimSuffix "-" }}
{{- end }}

{{- define "chant.selector" -}}
app.kubernetes.io/name: chant
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "chant.labels" -}}
{{ include "chant.selector" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "chant.image" -}}
{{ .Values.image.repository }}{{ if hasPrefix "sha256:" .Values.image.tag }}@{{ else }}:{{ end }}{{ .Values.image.tag }}
{{- end }}

{{- /* chant.yaml: what is configured, and what follows from how the pod is made. */ -}}
{{- define "chant.config" -}}
{{- $own := dict
  "listen" ":8080"
  "stateDir" "/var/lib/chant/state"
  "isolation" .Values.isolation
  "pages" (dict "token" "file:/etc/chant/secrets/pages-token") }}
{{- if .Values.database.url }}
{{- $own = merge $own (dict "database" .Values.database.url "databasePassword" "file:/etc/chant/secrets/database-password") }}
{{- end }}
{{- if .Values.reports.enabled }}
{{- $own = merge $own (dict "reports" (dict "token" "file:/etc/chant/secrets/reports-token")) }}
{{- end }}
{{- toYaml (merge $own (deepCopy .Values.config)) }}
{{- end }}
