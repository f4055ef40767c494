import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { shell } from '../integration/agent-fixture.ts';
import { type ControlPlane, podOn, startControlPlane } from '../integration/cluster-fixture.ts';
import { clusterTool } from '../integration/cluster-tools.ts';
import { launch } from '../integration/daemon-fixture.ts';
import { until } from '../integration/until.ts';
import { IGNORED_CHECKS, writeInitConfig, writeJoinConfig } from './kubeadm-config.ts';
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

/** Joins this node to a control plane, uses, upgrades and resets it. */
export async function joinNode(folder: string, recorder: Recorder): Promise<void> {
  linkPrograms(folder, 'kubeadm', 'kubectl', 'crictl');
  writePodNetwork();
  const [plane] = await Promise.all([
    // kubeadm's API server does not verify the certificates of kubelets either.
    startControlPlane('--enable-bootstrap-token-auth', '--kubelet-certificate-authority='),
    startCri(folder),
  ]);
  startControllers(folder, plane);
  await loadBusybox(folder);
  const config = await prepareCluster(folder, plane, recorder);
  const kubelet = startKubeletService(folder);
  await recorder.run('join', 'kubeadm', 'join', `--config=${config}`, IGNORED_CHECKS);
  await inspectNode(recorder);
  await usePod(plane, recorder);
  await recorder.run('upgrade', 'kubeadm', 'upgrade', 'node', IGNORED_CHECKS);
  await kubelet.restart();
  await until(() => plane.kubectl('logs', 'web')); // a kubelet knows its pods a little after its start
  await recorder.run('logs after restart', 'kubectl', 'logs', 'web');
  await kubelet.stop();
  await recorder.run('reset', 'kubeadm', 'reset', '--force', `--cri-socket=${CRI_SOCKET}`);
  await recorder.run('sandboxes after reset', 'crictl', `--runtime-endpoint=${CRI_SOCKET}`, 'pods', '-q');
  await recorder.run('files after reset', 'find', '/var/lib/kubelet', '-type', 'f');
}

/** Approves and signs certificates, and signs the cluster-info that joining nodes read. */
function startControllers(folder: string, { folder: cluster, authority, kubeconfig }: ControlPlane): void {
  const flags = [
    `--kubeconfig=${kubeconfig()}`,
    '--controllers=*,bootstrapsigner,tokencleaner',
    `--cluster-signing-cert-file=${authority.caFile}`,
    `--cluster-signing-key-file=${join(cluster, 'pki/ca.key')}`,
    `--root-ca-file=${authority.caFile}`,
    `--service-account-private-key-file=${join(cluster, 'pki/service-accounts.key')}`,
    '--leader-elect=false',
    '--bind-address=127.0.0.1',
  ];
  launch([clusterTool('kube-controller-manager'), ...flags], join(folder, 'controllers.log'));
}

/** Creates the objects of `kubeadm init` that joining nodes need. Returns the configuration file of `kubeadm join`. */
async function prepareCluster(folder: string, plane: ControlPlane, recorder: Recorder): Promise<string> {
  const admin = join(folder, 'admin.conf');
  writeFileSync(admin, await plane.kubectl('config', 'view', '--raw', '--flatten'), { mode: 0o600 });
  process.env['KUBECONFIG'] = admin; // for all that follows
  const [init, joining] = [join(folder, 'init.yaml'), join(folder, 'join.yaml')];
  const endpoint = new URL(plane.url).host;
  writeInitConfig(init, { controlPlaneEndpoint: endpoint });
  writeJoinConfig(joining, endpoint, plane.authority.caFile);
  for (const phase of [['upload-config', 'kubeadm'], ['upload-config', 'kubelet'], ['bootstrap-token']]) {
    const line = ['kubeadm', 'init', 'phase', ...phase, `--config=${init}`, `--kubeconfig=${admin}`];
    await recorder.run(phase.join(' '), ...line);
  }
  return joining;
}

async function inspectNode(recorder: Recorder): Promise<void> {
  await recorder.run('ready', 'kubectl', 'wait', `node/${NODE_NAME}`, '--for=condition=Ready', '--timeout=180s');
  await recorder.run('node', 'kubectl', 'get', 'node', NODE_NAME, '-ojson');
  await recorder.run('requests', 'kubectl', 'get', 'csr', '-ojson');
  await recorder.run('files', 'find', '/etc/kubernetes', '/var/lib/kubelet', '-type', 'f,l');
  await recorder.run('flags', 'cat', '/var/lib/kubelet/kubeadm-flags.env', '/var/lib/kubelet/instance-config.yaml');
}

async function usePod(plane: ControlPlane, recorder: Recorder): Promise<void> {
  const spec = { containers: [shell('main', 'echo hello; sleep 1000')], terminationGracePeriodSeconds: 0 };
  await plane.apply(podOn(NODE_NAME, 'web', spec));
  await recorder.run('pod', 'kubectl', 'wait', 'pod/web', '--for=condition=Ready', '--timeout=180s');
  await recorder.run('logs', 'kubectl', 'logs', 'web');
  await recorder.run('exec', 'kubectl', 'exec', 'web', '--', 'hostname');
}
