# Draws what `peer linux` measured: a group of bars for each load, a bar for each server.
#
#   gnuplot -e "data='linux.dat'; plot='linux.svg'" linux_peer.gp
set terminal svg size 960,620 dynamic font "sans-serif,13" background rgb "white"
set output plot
set style data histogram
set style histogram clustered gap 1
set style fill solid noborder
set boxwidth 0.9
set xrange [-0.7:4.7]
set border 3 linecolor rgb "#666666"
set grid ytics linetype 1 linecolor rgb "#dddddd"
set xtics nomirror scale 0
set ytics nomirror
set key off
set multiplot layout 2,2 title "PathExists, callers on connections: less is better, but for calls/s" \
  margins 0.07,0.98,0.08,0.86 spacing 0.09,0.16
# The figures of a panel stand in three columns, one for each server.
bars(n) = sprintf("plot data using %d:xtic(1) linecolor rgb '#0072b2', " . \
                  "data using %d linecolor rgb '#e69f00', data using %d linecolor rgb '#999999'", n, n + 1, n + 2)
set title "p50, µs"
set logscale y
set key left top Left reverse width -4 autotitle columnheader
eval(bars(2))
set key off
unset logscale y
set yrange [0:*]
set title "calls/s"
eval(bars(8))
set title "server CPU, µs per call"
eval(bars(11))
set title "context switches per call"
eval(bars(14))
unset multiplot
