package render

// GitHub, GitLab and others read these two elements in Markdown, and Markdown
// again between the blank lines within.
func (f folded) markdown(w *writer) {
	w.WriteString("<details>\n<summary>" + markup(f.summary) + "</summary>\n\n")
	w.WriteString(f.blocks.Markdown(w.Layout) + "\n</details>\n")
}

func (f folded) text(w *writer) {
	paragraph{inline{{visible(f.summary) + ":", plain}}}.text(w)
	w.WriteString("\n" + f.blocks.Text(w.Layout))
}

func (f folded) html(w *writer) {
	w.WriteString("<details>\n<summary>" + markup(f.summary) + "</summary>\n\n")
	w.WriteString(f.blocks.write(w.Layout, block.html) + "\n</details>\n")
}
