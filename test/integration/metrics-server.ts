import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAuthority } from './cluster-certificates.ts';
import type { ControlPlane } from './cluster-fixture.ts';
import { clusterTool } from './cluster-tools.ts';
import { end, launch, started } from './daemon-fixture.ts';
import { freePort } from './free-port.ts';
import { nodeAddress } from './node-files.ts';

/** The flags with which an API server forwards requests to another one, as kubeadm sets them, and its certificates. */
export interface AggregationLayer {
  readonly flags: readonly string[];
  remove(): void;
}

export interface MetricsServer {
  log(): string;
  stop(): Promise<void>;
}

const NAME = { name: 'metrics-server', namespace: 'kube-system' };
const ACCOUNT = [{ kind: 'ServiceAccount', ...NAME }];
const RBAC = 'rbac.authorization.k8s.io';
/** The fastest that metrics-server accepts. */
const RESOLUTION = '10s';

export function createAggregationLayer(): AggregationLayer {
  const folder = mkdtempSync(join(tmpdir(), 'nodelet-front-proxy-'));
  const { caFile, issue } = createAuthority(folder);
  const { certFile, keyFile } = issue({ user: 'front-proxy-client' });
  return {
    flags: [
      `--proxy-client-cert-file=${certFile}`,
      `--proxy-client-key-file=${keyFile}`,
      `--requestheader-client-ca-file=${caFile}`,
      '--requestheader-allowed-names=front-proxy-client',
      '--requestheader-username-headers=X-Remote-User',
      '--requestheader-group-headers=X-Remote-Group',
      '--requestheader-extra-headers-prefix=X-Remote-Extra-',
      '--enable-aggregator-routing', // to endpoints: no kube-proxy serves the addresses of services here
    ],
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Resolves when the API server forwards to it. It runs beside the cluster, with the token of its service account. */
export async function startMetricsServer(plane: ControlPlane): Promise<MetricsServer> {
  const port = await freePort(nodeAddress());
  await plane.apply(...permissions());
  const folder = join(plane.folder, 'metrics-server');
  mkdirSync(folder);
  const serving = plane.authority.issue({
    user: 'metrics-server',
    addresses: ['metrics-server.kube-system.svc', nodeAddress()],
  });
  const kubeconfig = await writeTokenKubeconfig(plane, join(folder, 'kubeconfig'));
  const logPath = join(folder, 'log');
  const command = [
    clusterTool('metrics-server'),
    ...['kubeconfig', 'authentication-kubeconfig', 'authorization-kubeconfig'].map((flag) => `--${flag}=${kubeconfig}`),
    `--bind-address=${nodeAddress()}`,
    `--secure-port=${port}`,
    `--tls-cert-file=${serving.certFile}`,
    `--tls-private-key-file=${serving.keyFile}`,
    `--kubelet-certificate-authority=${plane.authority.caFile}`,
    '--kubelet-preferred-address-types=InternalIP',
    '--kubelet-use-node-status-port',
    `--metric-resolution=${RESOLUTION}`,
    '--kubelet-request-timeout=9s', // must be less than the resolution
    '--v=2',
  ];
  const log = (): string => readFileSync(logPath, 'utf8');
  const daemon = await started(launch(command, logPath), async () => log().includes('Serving securely'), logPath);
  await using undo = new AsyncDisposableStack();
  undo.defer(() => end(daemon, 'SIGKILL'));
  await plane.apply(...service(port, readFileSync(plane.authority.caFile, 'utf8')));
  await plane.wait('apiservice/v1beta1.metrics.k8s.io', 'condition=Available');
  undo.move();
  return { log, stop: () => end(daemon, 'SIGTERM') };
}

/** Those of its manifests: it reads nodes and pods, and `nodes/metrics` of each node. */
function permissions(): readonly object[] {
  const named = (kind: string, name: string, rest: object) => ({
    ...{ apiVersion: `${RBAC}/v1`, kind, metadata: { name } },
    ...rest,
  });
  const roleRef = (kind: string, name: string) => ({ roleRef: { apiGroup: RBAC, kind, name }, subjects: ACCOUNT });
  const rules = [
    { apiGroups: [''], resources: ['nodes/metrics'], verbs: ['get'] },
    { apiGroups: [''], resources: ['pods', 'nodes'], verbs: ['get', 'list', 'watch'] },
  ];
  const reader = roleRef('Role', 'extension-apiserver-authentication-reader');
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: NAME },
    named('ClusterRole', 'system:metrics-server', { rules }),
    named('ClusterRoleBinding', 'system:metrics-server', roleRef('ClusterRole', 'system:metrics-server')),
    named(
      'ClusterRoleBinding',
      'metrics-server:system:auth-delegator',
      roleRef('ClusterRole', 'system:auth-delegator'),
    ),
    {
      ...{ apiVersion: `${RBAC}/v1`, kind: 'RoleBinding', ...reader },
      metadata: { ...NAME, name: 'metrics-server-auth-reader' },
    },
  ];
}

function service(port: number, ca: string): readonly object[] {
  const endpointPort = { name: 'https', port, protocol: 'TCP' };
  return [
    {
      ...{ apiVersion: 'v1', kind: 'Service', metadata: NAME },
      spec: { ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: port }] },
    },
    {
      ...{ apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', addressType: 'IPv4', ports: [endpointPort] },
      metadata: { ...NAME, labels: { 'kubernetes.io/service-name': NAME.name } },
      endpoints: [{ addresses: [nodeAddress()], conditions: { ready: true } }],
    },
    {
      ...{ apiVersion: 'apiregistration.k8s.io/v1', kind: 'APIService', metadata: { name: 'v1beta1.metrics.k8s.io' } },
      spec: {
        ...{ group: 'metrics.k8s.io', version: 'v1beta1', groupPriorityMinimum: 100, versionPriority: 100 },
        ...{ service: NAME, caBundle: btoa(ca) },
      },
    },
  ];
}

async function writeTokenKubeconfig(plane: ControlPlane, path: string): Promise<string> {
  const token = (await plane.kubectl('create', 'token', NAME.name, `--namespace=${NAME.namespace}`)).trim();
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server: plane.url, 'certificate-authority': plane.authority.caFile } }],
    users: [{ name: NAME.name, user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: NAME.name } }],
    'current-context': 'test',
  };
  writeFileSync(path, JSON.stringify(config), { mode: 0o600 });
  return path;
}
