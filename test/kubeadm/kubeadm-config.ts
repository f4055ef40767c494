import { createHash, X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { CRI_SOCKET, NODE_ADDRESS } from './node-services.ts';

const KUBEADM = 'kubeadm.k8s.io/v1beta4';
const TOKEN = 'abcdef.0123456789abcdef';
const nodeRegistration = { criSocket: CRI_SOCKET };

/** The checks of kubeadm that this machine cannot pass, whatever its kubelet is: it has cgroup v1. */
export const IGNORED_CHECKS = '--ignore-preflight-errors=SystemVerification';

/** Writes the configuration of `kubeadm init`; `cluster` is added to its ClusterConfiguration. */
export function writeInitConfig(path: string, cluster: object = {}): void {
  const documents = [
    {
      apiVersion: KUBEADM,
      kind: 'InitConfiguration',
      bootstrapTokens: [{ token: TOKEN }],
      localAPIEndpoint: { advertiseAddress: NODE_ADDRESS },
      nodeRegistration,
    },
    { apiVersion: KUBEADM, kind: 'ClusterConfiguration', kubernetesVersion: 'v1.36.4', ...cluster },
    {
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      // This machine has cgroup v1 and no systemd.
      cgroupDriver: 'cgroupfs',
      failCgroupV1: false,
    },
    {
      apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
      kind: 'KubeProxyConfiguration',
      // This node is a network namespace, where the limits of conntrack are read-only.
      conntrack: { maxPerCore: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
    },
  ];
  writeFileSync(path, documents.map((document) => `${JSON.stringify(document, undefined, 2)}\n`).join('---\n'));
}

/** Writes the configuration of `kubeadm join`; `endpoint` is the API server: `127.0.0.1:6443`. */
export function writeJoinConfig(path: string, endpoint: string, caFile: string): void {
  const bootstrapToken = { token: TOKEN, apiServerEndpoint: endpoint, caCertHashes: [publicKeyHash(caFile)] };
  const document = { apiVersion: KUBEADM, kind: 'JoinConfiguration', discovery: { bootstrapToken }, nodeRegistration };
  writeFileSync(path, JSON.stringify(document, undefined, 2));
}

/** The hash of a CA that `kubeadm token create --print-join-command` prints. */
function publicKeyHash(caFile: string): string {
  const key = new X509Certificate(readFileSync(caFile)).publicKey.export({ type: 'spki', format: 'der' });
  return `sha256:${createHash('sha256').update(key).digest('hex')}`;
}
