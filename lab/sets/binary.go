package sets

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// CIFARColumns are the numbers of an image of the cifar10 set: 32 rows of 32 pixels of three colours.
const CIFARColumns = 32 * 32 * 3

const (
	cifarClasses = 10
	cifarPlane   = 32 * 32
	cifarRecord  = 1 + CIFARColumns // a class, then the image colour by colour
	maxImages    = 60000            // of a file: CIFAR-10 and MNIST have no more in all
)

// CIFAR10 returns the images of a file of CIFAR-10's binary version, [n][32][32][3] with the colours of a pixel
// side by side, as networks here take them, and their classes, 0 to 9. A file with fewer images than asked for is
// refused; what follows them is not looked at.
func CIFAR10(path string, images int) (pixels, classes []byte, err error) {
	err = Read(path, func(r io.Reader) error {
		pixels, classes, err = decodeCIFAR(r, images)
		return err
	})
	return pixels, classes, err
}

// decodeCIFAR is CIFAR10 for an open file.
func decodeCIFAR(r io.Reader, images int) (pixels, classes []byte, err error) {
	if images < 1 || images > maxImages {
		return nil, nil, fmt.Errorf("%d images are asked for, want 1 to %d", images, maxImages)
	}
	var record [cifarRecord]byte
	for i := range images {
		n, err := io.ReadFull(r, record[:])
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, nil, fmt.Errorf("record %d of %d has %d bytes, want %d: a class and %d of an image",
				i+1, images, n, cifarRecord, CIFARColumns)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("record %d of %d: %w", i+1, images, err)
		}
		if record[0] >= cifarClasses {
			return nil, nil, fmt.Errorf("record %d: the class is %d, want 0 to %d", i+1, record[0], cifarClasses-1)
		}
		classes = append(classes, record[0])
		for at := range cifarPlane {
			for colour := range 3 {
				pixels = append(pixels, record[1+colour*cifarPlane+at])
			}
		}
	}
	return pixels, classes, nil
}

// The magic numbers of idx files, for one and for three dimensions of bytes.
const (
	IDXLabels = 0x0801
	IDXImages = 0x0803
)

// IDX returns the bytes of an idx file, in which MNIST comes, that has the given magic number and dimensions.
func IDX(path string, magic uint32, dimensions ...uint32) (data []byte, err error) {
	err = Read(path, func(r io.Reader) error {
		data, err = decodeIDX(r, magic, dimensions...)
		return err
	})
	return data, err
}

// decodeIDX is IDX for an open file.
func decodeIDX(r io.Reader, magic uint32, dimensions ...uint32) ([]byte, error) {
	const most = maxImages * 28 * 28
	size := 1
	for i, want := range append([]uint32{magic}, dimensions...) {
		var got uint32
		if err := binary.Read(r, binary.BigEndian, &got); err != nil {
			return nil, fmt.Errorf("the header: %w", err)
		}
		if got != want {
			return nil, fmt.Errorf("word %d of the header is %d, want %d", i+1, got, want)
		}
		if i > 0 {
			if want > most || size*int(want) > most {
				return nil, fmt.Errorf("%d bytes and more are asked for, want at most %d", size*int(want), most)
			}
			size *= int(want)
		}
	}
	data := make([]byte, size)
	if n, err := io.ReadFull(r, data); err != nil {
		return nil, fmt.Errorf("it has %d bytes of data, want %d", n, size)
	}
	return data, nil
}
