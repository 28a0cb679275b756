# Prints how far apart cairo sets the letters ! to ~ in graphite-web's PNGs, for fonts of DejaVu.
#
#   python3 advances.py > advances.txt      needs cairocffi, and the fonts (Debian: fonts-dejavu)
#
# A line is: family, 0 or 1 (bold), size, and a number for each letter.
import cairocffi as cairo

for name, family in (('DejaVu Sans', 'sans-serif'), ('DejaVu Sans Mono', 'monospace'), ('DejaVu Serif', 'serif')):
    for bold in (0, 1):
        for size in (8, 9, 10, 11, 12, 14, 18, 24):
            context = cairo.Context(cairo.ImageSurface(cairo.FORMAT_ARGB32, 10, 10))
            options = context.get_font_options()
            options.set_antialias(cairo.ANTIALIAS_NONE)  # as graphite-web does
            context.set_font_options(options)
            context.select_font_face(name, cairo.FONT_SLANT_NORMAL, bold)
            context.set_font_size(size)
            print(family, bold, size, *(round(context.text_extents(chr(c))[4]) for c in range(33, 127)))
