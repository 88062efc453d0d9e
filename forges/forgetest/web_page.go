package forgetest

// pageText is the one page; everything shown is escaped by html/template.
const pageText = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{{.Title}}</title>
<style>
body { font: 16px/1.4 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; border-left: 3px solid #999; padding-left: .8rem; }
code { font-size: .9em; } textarea { width: 100%; height: 6rem; } td, th { text-align: left; padding-right: 1rem; }
</style></head><body>
<p><a href="/">Repositories</a></p>
<h1>{{.Title}}</h1>
{{with .State}}<p>{{.}}</p>{{end}}
{{with .Head}}<p>Commit <code>{{.}}</code></p>{{end}}
{{with .Links}}<ul>{{range .}}<li>{{if .URL}}<a href="{{.URL}}">{{.Text}}</a>{{else}}<code>{{.Text}}</code>{{end}} {{.Note}}</li>{{end}}</ul>{{end}}
{{with .Statuses}}<table><caption>Statuses</caption>{{range .}}<tr><td>{{.Context}}</td><td>{{.State}}</td><td>{{.Description}}</td><td>{{if .TargetURL}}<a href="{{.TargetURL}}">details</a>{{end}}</td></tr>{{end}}</table>{{end}}
{{with .Checks}}<table><caption>Checks</caption>{{range .}}<tr><td>{{.Name}}</td><td>{{.Status}}</td><td>{{.Conclusion}}</td></tr>{{end}}</table>{{end}}
{{range .Talk}}<h2>{{.Who}} {{.What}}</h2><pre>{{.Body}}</pre>{{with .Answer}}<p>{{.}}</p>{{end}}{{end}}
{{if .Action}}<form method="post" action="{{.Action}}">
<p><label>As <select name="as">{{range .People}}<option>{{.}}</option>{{end}}</select></label></p>
<p><label>Text, or the name of a check<br><textarea name="body"></textarea></label></p>
<p><button name="do" value="comment">Comment</button> <button name="do" value="approve">Approve</button>
<button name="do" value="merge">Merge</button> <button name="do" value="squash">Squash</button>
<button name="do" value="check">Check passed</button></p>
</form>{{end}}
</body></html>
`
