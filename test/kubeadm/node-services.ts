import { type ChildProcess, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { busyboxArchive } from '../../src/app/images/local-images.ts';
import { connectCri } from '../../src/cri/client.ts';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import { linuxClock } from '../../src/host/linux/process/linux-clock.ts';
import { type ClusterTool, clusterTool } from '../integration/cluster-tools.ts';
import { launch, started } from '../integration/daemon-fixture.ts';
import { until } from '../integration/until.ts';

/** The address and the name that enter-node.sh gives to a node. */
export const NODE_ADDRESS = '10.200.0.2';
export const NODE_NAME = 'node-1';
/** The default of `nodelet cri`. */
export const CRI_SOCKET = 'unix:///run/nodelet/cri.sock';
const NODELET = join(import.meta.dirname, '../../bin/nodelet');
const HEALTHZ = 'http://127.0.0.1:10248/healthz';
const START_MS = 60_000;

/** Puts programs on the search path of the node. Nodelet is its kubelet, by a link. */
export function linkPrograms(folder: string, ...tools: readonly ClusterTool[]): void {
  mkdirSync(join(folder, 'bin'), { recursive: true });
  for (const name of ['nodelet', 'kubelet']) symlinkSync(NODELET, join(folder, 'bin', name));
  for (const tool of tools) symlinkSync(clusterTool(tool), join(folder, 'bin', tool));
}

/** `nodelet cri` in the place of containerd. Resolves when it answers; its network may be missing. */
export function startCri(folder: string): Promise<ChildProcess> {
  const logPath = join(folder, 'cri.log');
  const { runtime } = connectCri(CRI_SOCKET, { clock: linuxClock, runtimeRequestTimeoutMs: START_MS });
  const isReady = async (): Promise<boolean> => {
    const { status } = await runtime.status({ verbose: false }, AbortSignal.timeout(START_MS));
    return status?.conditions.find(({ type }) => type === 'RuntimeReady')?.status === true;
  };
  return started(launch(['nodelet', 'cri'], logPath), isReady, logPath);
}

/** A bridge network, which is what an operator of kubeadm installs a network add-on for. */
export function writePodNetwork(): void {
  const bridge = {
    type: 'bridge',
    bridge: 'cni0',
    isGateway: true,
    ipMasq: true,
    hairpinMode: true,
    ipam: { type: 'host-local', ranges: [[{ subnet: '10.244.0.0/24' }]], routes: [{ dst: '0.0.0.0/0' }] },
  };
  const network = { cniVersion: '1.0.0', name: 'pods', plugins: [bridge] };
  mkdirSync('/etc/cni/net.d', { recursive: true });
  writeFileSync('/etc/cni/net.d/10-pods.conflist', JSON.stringify(network));
}

/** Loads the image of this machine's busybox: `BUSYBOX_IMAGE`. */
export async function loadBusybox(folder: string): Promise<void> {
  const { bytes } = await busyboxArchive(createLinuxHost(process.env), AbortSignal.timeout(START_MS));
  const archive = join(folder, 'busybox.tar');
  writeFileSync(archive, bytes);
  execFileSync('nodelet', ['image', 'load', archive]);
}

/** `kubelet` as the unit of Kubernetes' packages runs it. It fails until kubeadm has written its files. */
export interface KubeletService {
  /** Ends the kubelet; resolves when the next one is healthy. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export function startKubeletService(folder: string): KubeletService {
  const service = launch([join(import.meta.dirname, 'kubelet-service.sh')], join(folder, 'kubelet.log'));
  const { pid = 0 } = service;
  const child = (): number => Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim());
  return {
    async restart() {
      const previous = child();
      process.kill(previous, 'SIGTERM');
      await until(async () => child() !== previous && (await fetch(HEALTHZ)).ok);
    },
    async stop() {
      const kubelet = child();
      const ended = once(service, 'exit');
      service.kill('SIGKILL'); // first: it would start the next one
      process.kill(kubelet, 'SIGTERM');
      await ended;
      await until(async () => !(await fetch(HEALTHZ).catch(() => undefined)));
    },
  };
}
