# Draws what `scale day` measured: p99 of some calls and the memory over the time of the node.
#
#   gnuplot -e "data='day.dat'; plot='day.svg'" day.gp
set terminal svg size 960,620 dynamic font "sans-serif,13" background rgb "white"
set output plot
set border 3 linecolor rgb "#666666"
set grid ytics linetype 1 linecolor rgb "#dddddd"
set tics nomirror
set key at screen 0.76, graph 1 left top Left reverse samplen 2
set multiplot layout 2,1 margins 0.07,0.75,0.11,0.94 spacing 0.09,0.13
set title "p99 of a call, ms"
set logscale y
rpcs = "PartitionDisk SetDiskState ListDiskIDs MountVolume UnmountVolume GetVolumeStats"
plot for [i = 1:words(rpcs)] data using "hour":(column(word(rpcs, i)) / 1000) with lines \
  linewidth 1.5 linecolor i title word(rpcs, i)
unset logscale y
set title "memory of csi-proxy, MiB"
set xlabel "hours of the node"
set yrange [0:*]
plot data using "hour":"RSS" with lines linewidth 2 linecolor rgb "#0072b2" title "RSS"
unset multiplot
