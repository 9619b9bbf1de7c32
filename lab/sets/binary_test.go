package sets

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
)

// cifarImage is a record whose pixel p has the colours p, p+85 and p+170, modulo 256.
func cifarImage(class byte) []byte {
	record := []byte{class}
	for _, add := range []int{0, 85, 170} {
		for p := range 1024 {
			record = append(record, byte(p+add))
		}
	}
	return record
}

// TestCIFARColoursStandSideBySide in each pixel, row by row.
func TestCIFARColoursStandSideBySide(t *testing.T) {
	path := put(t, t.TempDir(), "test_batch.bin", string(slices.Concat(cifarImage(3), cifarImage(9), []byte{77})))
	pixels, classes, err := CIFAR10(path, 2)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(classes, []byte{3, 9}) || len(pixels) != 2*3072 {
		t.Fatalf("classes %v, %d bytes", classes, len(pixels))
	}
	for _, p := range []int{0, 31, 32, 1023} {
		if want := []byte{byte(p), byte(p + 85), byte(p + 170)}; !slices.Equal(pixels[3072+3*p:][:3], want) {
			t.Errorf("pixel %d is %v, want %v", p, pixels[3072+3*p:][:3], want)
		}
	}
	_, _, err = CIFAR10(path, 3)
	wantError(t, err, path+": record 3 of 3 has 1 bytes, want 3073: a class and 3072 of an image")
	_, _, err = CIFAR10(path, 1<<40)
	wantError(t, err, "1099511627776 images are asked for, want 1 to 60000")
	bad := put(t, t.TempDir(), "test_batch.bin", string(cifarImage(10)))
	_, _, err = CIFAR10(bad, 1)
	wantError(t, err, bad+": record 1: the class is 10, want 0 to 9")
}

// idx writes an idx file of bytes.
func idx(magic uint32, dimensions []uint32, data ...byte) []byte {
	var b []byte
	for _, v := range append([]uint32{magic}, dimensions...) {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return append(b, data...)
}

// TestIDXIsTheOneAskedFor by magic number, dimensions and length.
func TestIDXIsTheOneAskedFor(t *testing.T) {
	whole := idx(IDXLabels, []uint32{3}, 7, 8, 9)
	if got, err := decodeIDX(bytes.NewReader(whole), IDXLabels, 3); err != nil || !slices.Equal(got, []byte{7, 8,
		9}) {
		t.Errorf("got %v, %v", got, err)
	}
	for _, c := range []struct {
		text  []byte
		magic uint32
		shape []uint32
		want  string
	}{
		{whole, IDXImages, []uint32{3}, "word 1 of the header is 2049, want 2051"},
		{whole, IDXLabels, []uint32{4}, "word 2 of the header is 3, want 4"},
		{whole[:10], IDXLabels, []uint32{3}, "it has 2 bytes of data, want 3"},
		{whole[:6], IDXLabels, []uint32{3}, "the header: unexpected EOF"},
		{idx(IDXImages, []uint32{1 << 31, 1 << 31}), IDXImages, []uint32{1 << 31, 1 << 31},
			"bytes and more are asked for, want at most 47040000"},
	} {
		_, err := decodeIDX(bytes.NewReader(c.text), c.magic, c.shape...)
		wantError(t, err, c.want)
	}
}

func FuzzCIFAR10(f *testing.F) {
	f.Add(cifarImage(4), 1)
	f.Add(append(cifarImage(0), cifarImage(11)...), 2)
	f.Add([]byte{}, 1)
	f.Fuzz(func(t *testing.T, content []byte, images int) {
		pixels, classes, err := decodeCIFAR(bytes.NewReader(content), images)
		if err != nil {
			if pixels != nil || classes != nil {
				t.Fatal("images beside an error")
			}
			return
		}
		if len(classes) != images || len(pixels) != images*CIFARColumns || len(content) < images*cifarRecord ||
			slices.Max(classes) > 9 {
			t.Fatalf("%d images of %d bytes from %d", len(classes), len(pixels), len(content))
		}
	})
}

func FuzzIDX(f *testing.F) {
	f.Add(idx(IDXLabels, []uint32{3}, 7, 8, 9), uint32(3))
	f.Add(idx(IDXLabels, []uint32{1 << 31}), uint32(1<<31))
	f.Fuzz(func(t *testing.T, content []byte, count uint32) {
		data, err := decodeIDX(bytes.NewReader(content), IDXLabels, count)
		if err == nil && (len(data) != int(count) || !bytes.HasPrefix(content[8:], data)) {
			t.Fatalf("%d bytes, want %d", len(data), count)
		}
	})
}
