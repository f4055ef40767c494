#!/bin/sh
# What systemd does with kubelet.service and the drop-in 10-kubeadm.conf of Kubernetes' packages: the same environment,
# the same command line, the next kubelet after the previous one has ended.
set -u
while :; do
  KUBELET_KUBECONFIG_ARGS='--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf'
  KUBELET_CONFIG_ARGS='--config=/var/lib/kubelet/config.yaml'
  KUBELET_KUBEADM_ARGS='' KUBELET_EXTRA_ARGS=''
  for file in /var/lib/kubelet/kubeadm-flags.env /etc/default/kubelet; do
    [ ! -f "$file" ] || . "$file"
  done
  # shellcheck disable=SC2086 # systemd splits them, too
  kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
  echo "kubelet.service: exit code $?" >&2
  sleep 1 # RestartSec=10, shortened
done
