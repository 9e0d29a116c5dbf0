# Draws what `scale nodes` measured: a line for each call, as the node grows and as the clients grow.
#
#   gnuplot -e "data='scale.dat'; callers='scale-callers.dat'; plot='scale.svg'" scale.gp
set terminal svg size 1080,520 dynamic font "sans-serif,13" background rgb "white"
set output plot
set border 3 linecolor rgb "#666666"
set grid ytics linetype 1 linecolor rgb "#dddddd"
set tics nomirror
set logscale xy
set key autotitle columnheader
set multiplot
# The order of the columns: 2 to 4 are listings, the others look-ups.
set title "p50 of a call, µs, by disks of the node"
set xlabel "disks, volumes, mounts, mappings"
set lmargin at screen 0.09
set rmargin at screen 0.38
set key at screen 0.395, screen 0.88 left top Left reverse samplen 2
set yrange [100:*]
plot for [i = 2:4] data using 1:i with linespoints linewidth 2 pointtype 7 linecolor i, \
     for [i = 5:13] data using 1:i with linespoints linewidth 1 pointtype 6 linecolor i dashtype 2
set title "server CPU of a call, µs"
set xlabel "clients, each on a connection, on 100 disks"
set lmargin at screen 0.72
set rmargin at screen 0.98
set key at screen 0.74, screen 0.88 left top
set yrange [10:10000]
# The columns come in pairs: p50, CPU. The colours are those of the left half.
colours = "2 5 9"
plot for [i = 1:3] callers using 1:(column(2 * i + 1)) with linespoints linewidth 2 pointtype 7 \
  linecolor int(word(colours, i))
unset multiplot
