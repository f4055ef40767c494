import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import { debianRoot } from '../critest/debian-root.ts';
import { ImagePusher } from '../critest/push-image.ts';
import { writeRegistryHosts } from '../critest/registry-hosts.ts';
import { clusterToolsFolder } from '../integration/cluster-tools.ts';
import { startRegistry } from '../integration/registry-fixture.ts';
import { until } from '../integration/until.ts';
import { controlPlaneImages, IMAGE_HOST, KUBEADM_PACKAGES } from './control-plane-images.ts';
import { IGNORED_CHECKS, writeInitConfig } from './kubeadm-config.ts';
import {
  CRI_SOCKET,
  linkPrograms,
  loadBusybox,
  NODE_NAME,
  startCri,
  startKubeletService,
  writePodNetwork,
} from './node-services.ts';
import type { Recorder } from './transcript.ts';

const WAIT = '--timeout=180s';

/** Makes a cluster of this node alone: its control plane are static pods of Nodelet. Uses it and resets it. */
export async function initNode(folder: string, recorder: Recorder): Promise<void> {
  linkPrograms(folder, 'kubeadm', 'kubectl', 'crictl');
  await serveImages();
  await startCri(folder);
  await loadBusybox(folder);
  const config = join(folder, 'init.yaml');
  writeInitConfig(config);
  const kubelet = startKubeletService(folder);
  await recorder.run('images', 'kubeadm', 'config', 'images', 'list', `--config=${config}`);
  await recorder.run('init', 'kubeadm', 'init', `--config=${config}`, IGNORED_CHECKS);
  process.env['KUBECONFIG'] = '/etc/kubernetes/admin.conf'; // as kubeadm prints
  writePodNetwork();
  await recorder.run('ready', 'kubectl', 'wait', `node/${NODE_NAME}`, '--for=condition=Ready', WAIT);
  for (const addOn of ['daemonset/kube-proxy', 'deployment/coredns'])
    await recorder.run(addOn, 'kubectl', '-n', 'kube-system', 'rollout', 'status', addOn, WAIT);
  await recorder.run('pods', 'kubectl', '-n', 'kube-system', 'get', 'pods', '-owide');
  await recorder.run('nodes', 'kubectl', 'get', 'nodes', '-owide');
  await useCluster(recorder);
  await recorder.run('containers', 'crictl', `--runtime-endpoint=${CRI_SOCKET}`, 'ps', '-q');
  await kubelet.restart(); // kubeadm asks for it, but finds no init system here
  await until(() => execFileSync('kubectl', ['logs', 'web'], { stdio: 'pipe' })); // the kubelet knows its pods again
  await recorder.run('containers after restart', 'crictl', `--runtime-endpoint=${CRI_SOCKET}`, 'ps', '-q');
  await kubelet.stop();
  await recorder.run('reset', 'kubeadm', 'reset', '--force', `--cri-socket=${CRI_SOCKET}`);
  await recorder.run('sandboxes after reset', 'crictl', `--runtime-endpoint=${CRI_SOCKET}`, 'pods', '-q');
  await recorder.run('files after reset', 'find', '/etc/kubernetes', '/var/lib/kubelet', '/var/lib/etcd', '-type', 'f');
}

/** A registry on this node that answers for the one of the images; `nodelet cri` reads containerd's hosts.toml. */
async function serveImages(): Promise<void> {
  const registry = await startRegistry();
  const pusher = new ImagePusher(registry.address);
  const debian = debianRoot(dirname(clusterToolsFolder()), KUBEADM_PACKAGES);
  for (const image of controlPlaneImages(debian)) await pusher.push(image);
  writeRegistryHosts('/etc/containerd/certs.d', [IMAGE_HOST], registry.address);
}

/** A pod that the scheduler places, and that reaches the API server by its service name: CoreDNS and kube-proxy answer. */
async function useCluster(recorder: Recorder): Promise<void> {
  const taint = 'node-role.kubernetes.io/control-plane:NoSchedule-';
  await recorder.run('untaint', 'kubectl', 'taint', 'node', NODE_NAME, taint);
  await recorder.run('run', 'kubectl', 'run', 'web', `--image=${BUSYBOX_IMAGE}`, '--', 'sleep', '1000');
  await recorder.run('pod', 'kubectl', 'wait', 'pod/web', '--for=condition=Ready', WAIT);
  await recorder.run('name', 'kubectl', 'exec', 'web', '--', 'nslookup', 'kubernetes.default.svc.cluster.local');
  const question = String.raw`printf 'GET / HTTP/1.0\r\n\r\n' | nc -w 10 kubernetes.default 443`;
  await recorder.run('service', 'kubectl', 'exec', 'web', '--', 'sh', '-c', question);
}
