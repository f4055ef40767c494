import { type ChildProcess, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ControlPlane } from './cluster-fixture.ts';
import { end, launch, started } from './daemon-fixture.ts';
import { freePort } from './free-port.ts';

/** A series of an answer: its labels without the name, and its value now. */
export interface Series {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface ScrapeTarget {
  readonly labels: Readonly<Record<string, string>>;
  readonly health: 'up' | 'down' | 'unknown';
  readonly lastError: string;
}

/** Debian's Prometheus beside a cluster, with the token of a service account. */
export interface Prometheus {
  /** The token that it sends to nodes. */
  readonly token: string;
  query(expression: string): Promise<readonly Series[]>;
  targets(): Promise<readonly ScrapeTarget[]>;
  log(): string;
  stop(): Promise<void>;
}

export interface PrometheusPlan {
  readonly plane: ControlPlane;
  /** The addresses of nodes by their names. */
  readonly nodes: ReadonlyMap<string, string>;
  /** The paths of nodes. */
  readonly paths: readonly string[];
  /** Groups of recording and alerting rules. */
  readonly groups: readonly object[];
  /** The address of the exporter of what the API server knows of pods. */
  readonly podInfo: string;
}

const FOLDERS = ['/usr/bin', join(import.meta.dirname, '../../.tools/prometheus/usr/bin')];
const ACCOUNT = { name: 'prometheus', namespace: 'monitoring' };
const RBAC = 'rbac.authorization.k8s.io';
const SCRAPE_EVERY = '5s';
const EVALUATE_EVERY = '2s';

/** The `{ skip }` reason of a test when it is not installed, else `false`. */
export function prometheusSkipReason(): string | false {
  return ['prometheus', 'promtool'].some((name) => !programPath(name)) && 'not installed: prometheus';
}

/** What `promtool check metrics` says of an exposition, a line for each metric: name and finding. */
export function lintMetrics(exposition: string): readonly string[] {
  const { stdout, stderr } = promtool(['check', 'metrics'], exposition);
  return `${stdout}${stderr}`.split('\n').filter((line) => line !== '');
}

/** Resolves when it serves its API. */
export async function startPrometheus(plan: PrometheusPlan): Promise<Prometheus> {
  const { plane } = plan;
  const folder = join(plane.folder, 'prometheus');
  mkdirSync(folder);
  await plane.apply(...permissions());
  const token = (await plane.kubectl('create', 'token', ACCOUNT.name, `--namespace=${ACCOUNT.namespace}`)).trim();
  writeFileSync(join(folder, 'token'), token, { mode: 0o600 });
  writeFileSync(join(folder, 'rules.yaml'), JSON.stringify({ groups: plan.groups }));
  const config = join(folder, 'prometheus.yaml');
  writeFileSync(config, JSON.stringify(configuration(plan, folder)));
  const { status, stdout, stderr } = promtool(['check', 'config', config]);
  if (status !== 0) throw new Error(`promtool rejects the configuration: ${stdout}${stderr}`);
  const url = `http://127.0.0.1:${await freePort()}`;
  const logPath = join(folder, 'log');
  const command = [
    programPath('prometheus') ?? 'prometheus',
    `--config.file=${config}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=${url.slice('http://'.length)}`,
    '--log.level=debug', // names each rejected sample
  ];
  const isReady = async (): Promise<boolean> => (await fetch(`${url}/-/ready`)).ok;
  return client(url, token, await started(launch(command, logPath), isReady, logPath), logPath);
}

function client(url: string, token: string, daemon: ChildProcess, logPath: string): Prometheus {
  const ask = async <T>(path: string): Promise<T> => {
    const answer = await fetch(`${url}/api/v1/${path}`);
    const { status, data, error } = (await answer.json()) as { status: string; data: T; error?: string };
    if (status !== 'success') throw new Error(`Prometheus rejects ${decodeURIComponent(path)}: ${error}`);
    return data;
  };
  return {
    token,
    async query(expression) {
      const { result } = await ask<{ readonly result: readonly RawSeries[] }>(
        `query?query=${encodeURIComponent(expression)}`,
      );
      return result.map(({ metric: { __name__, ...labels }, value: [, value] }) => ({ labels, value: Number(value) }));
    },
    async targets() {
      return (await ask<{ readonly activeTargets: readonly ScrapeTarget[] }>('targets?state=active')).activeTargets;
    },
    log: () => readFileSync(logPath, 'utf8'),
    stop: () => end(daemon, 'SIGKILL'), // its data goes with the cluster
  };
}

interface RawSeries {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

/** It reads `nodes/metrics` of each node: what nodes check with their webhooks. */
function permissions(): readonly object[] {
  const rules = [{ apiGroups: [''], resources: ['nodes/metrics'], verbs: ['get'] }];
  const cluster = { apiVersion: `${RBAC}/v1`, metadata: { name: ACCOUNT.name } };
  const roleRef = { apiGroup: RBAC, kind: 'ClusterRole', name: ACCOUNT.name };
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: ACCOUNT.namespace } },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: ACCOUNT },
    { ...cluster, kind: 'ClusterRole', rules },
    { ...cluster, kind: 'ClusterRoleBinding', roleRef, subjects: [{ kind: 'ServiceAccount', ...ACCOUNT }] },
  ];
}

/** The scrape configuration of docs/monitoring.md, without discovery: Debian's program knows no Kubernetes. */
function configuration({ plane, nodes, paths, podInfo }: PrometheusPlan, folder: string): object {
  const targets = [...nodes].map(([node, address]) => ({ targets: [address], labels: { node, job: 'kubelet' } }));
  const credentials = {
    authorization: { credentials_file: join(folder, 'token') },
    tls_config: { ca_file: plane.authority.caFile },
  };
  const ofNodes = paths.map((path) => ({
    job_name: `kubelet${path}`,
    scheme: 'https',
    metrics_path: path,
    honor_labels: true,
    ...credentials,
    static_configs: targets,
    relabel_configs: [{ source_labels: ['__metrics_path__'], target_label: 'metrics_path' }],
  }));
  const ofPods = { job_name: 'kube-state-metrics', honor_labels: true, static_configs: [{ targets: [podInfo] }] };
  return {
    global: { scrape_interval: SCRAPE_EVERY, scrape_timeout: SCRAPE_EVERY, evaluation_interval: EVALUATE_EVERY },
    rule_files: [join(folder, 'rules.yaml')],
    scrape_configs: [...ofNodes, ofPods],
  };
}

function promtool(args: readonly string[], input = '') {
  return spawnSync(programPath('promtool') ?? 'promtool', args, { input, encoding: 'utf8', maxBuffer: 64 * 2 ** 20 });
}

function programPath(name: string): string | undefined {
  return FOLDERS.map((folder) => join(folder, name)).find((path) => existsSync(path));
}
