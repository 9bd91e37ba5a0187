"""DICOM files written with pydicom alone."""

import io
import warnings

import numpy as np
import pydicom
from PIL import Image
from pydicom.dataset import FileDataset, FileMetaDataset
from pydicom.encaps import encapsulate
from pydicom.uid import ExplicitVRLittleEndian, JPEGBaseline8Bit

CLASSES = {
    "CT": "1.2.840.10008.5.1.4.1.1.2",
    "MG": "1.2.840.10008.5.1.4.1.1.1.2",
    "DX": "1.2.840.10008.5.1.4.1.1.1.1",
    "CR": "1.2.840.10008.5.1.4.1.1.1",
    "SC": "1.2.840.10008.5.1.4.1.1.7",
}


def write_dicom(path, pixels, *, kind="DX", sop, jpeg=False, **tags):
    """Write one grey frame; ``tags`` are keywords of further elements."""
    path.parent.mkdir(parents=True, exist_ok=True)
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = CLASSES[kind]
    meta.TransferSyntaxUID = JPEGBaseline8Bit if jpeg else ExplicitVRLittleEndian
    signed = pixels.dtype.kind == "i"
    bits = tags.pop("BitsStored", 8 * pixels.dtype.itemsize)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some collections hold identifiers that are no UIDs
        meta.MediaStorageSOPInstanceUID = sop
        file = FileDataset(path, {}, file_meta=meta, preamble=bytes(128))
        file.SOPClassUID = CLASSES[kind]
        file.SOPInstanceUID = sop
        file.SamplesPerPixel = 1
        file.PhotometricInterpretation = "MONOCHROME2"
        file.Rows, file.Columns = pixels.shape
        file.BitsAllocated = 8 * pixels.dtype.itemsize
        file.BitsStored, file.HighBit = bits, bits - 1
        file.PixelRepresentation = int(signed)
        for keyword, value in tags.items():
            setattr(file, keyword, value)
        if jpeg:
            stream = io.BytesIO()
            Image.fromarray(pixels).save(stream, "JPEG", quality=95)
            file.PixelData = encapsulate([stream.getvalue()])
            file["PixelData"].is_undefined_length = True
        else:
            data = np.ascontiguousarray(pixels).tobytes()
            file.PixelData = data + b"\0" * (len(data) % 2)
            file["PixelData"].VR = "OB" if file.BitsAllocated == 8 else "OW"
        pydicom.dcmwrite(path, file, enforce_file_format=True)
