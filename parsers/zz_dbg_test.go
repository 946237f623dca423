package parsers

import (
	"fmt"
	"github.com/oomdoc/oomdoc/internal/clean"
	"os"
	"testing"
)

func TestDbg(t *testing.T) {
	b, _ := os.ReadFile(os.Getenv("LOG"))
	l := NewLog(clean.Lines(string(b), 1))
	f := Parse(l)
	for _, x := range f.Failures {
		fmt.Printf("FAIL %+v\n", x)
	}
	for _, x := range f.Buffers {
		fmt.Printf("BUF %+v\n", x)
	}
	for _, x := range f.Devices {
		fmt.Printf("DEV %+v %v %v\n", x, x.Total, x.Free)
	}
	for _, x := range f.Facts {
		fmt.Printf("FACT %s %v %v %d\n", x.Name, x.Size, x.Count, x.Line)
	}
	for _, x := range f.Settings {
		fmt.Printf("SET %+v\n", x)
	}
	fmt.Println(f.Models, f.Notices, f.Programs)
}
