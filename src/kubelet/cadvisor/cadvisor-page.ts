import { byCodePoint } from '../../base/code-point-order.ts';
import type { MachineIdentity } from '../node/status/machine-identity.ts';
import type { CgroupView } from './cgroup-view.ts';
import { DISK_METRICS } from './disk-metrics.ts';
import { MACHINE_METRICS, type MachineView } from './machine-metrics.ts';
import { gauge, type PageMetric } from './metric-table.ts';
import { type MetricText, subjectTexts } from './metrics-page.ts';
import { PROCESS_METRICS } from './process-metrics.ts';
import { USAGE_METRICS } from './usage-metrics.ts';

export const CGROUP_METRICS: readonly PageMetric<CgroupView>[] = [
  ...USAGE_METRICS,
  ...DISK_METRICS,
  ...PROCESS_METRICS,
];

const VERSION: PageMetric<undefined> = untimed(
  'cadvisor_version_info',
  "A metric with a constant '1' value labeled by kernel version, OS version, docker version, cadvisor version & cadvisor revision.",
  1,
);
const NO_ERROR_OF_MACHINE = untimed(
  'machine_scrape_error',
  '1 if there was an error while getting machine metrics, 0 otherwise.',
  0,
);
const CONTAINER_ERROR = {
  name: 'container_scrape_error',
  help: '1 if there was an error while getting container metrics, 0 otherwise',
};

export interface MachinePage {
  readonly identity: MachineIdentity;
  readonly view: MachineView;
}

export function machineTexts({ identity, view }: MachinePage): readonly MetricText[] {
  const { bootId, machineId, systemUuid } = identity;
  const labels = { boot_id: bootId, machine_id: machineId, system_uuid: systemUuid };
  return [...subjectTexts(MACHINE_METRICS, [{ view, labels, timeMs: 0 }]), ...single(NO_ERROR_OF_MACHINE)];
}

/** kubelet's cAdvisor has no version of its own. */
export function versionTexts({ identity }: Pick<MachinePage, 'identity'>): readonly MetricText[] {
  const { kernelVersion, osImage: osVersion } = identity;
  return single(VERSION, { cadvisorRevision: '', cadvisorVersion: '', dockerVersion: '', kernelVersion, osVersion });
}

/** Metrics of cgroups, ordered by their labels as Prometheus' client orders them. */
export function cgroupTexts(cgroups: readonly CgroupView[]): readonly MetricText[] {
  const subjects = cgroups
    .map((view) => ({ view, labels: { ...view.labels }, timeMs: view.timeMs }))
    .sort((a, b) => byCodePoint(a.labels.container, b.labels.container) || byCodePoint(a.labels.id, b.labels.id));
  return [...subjectTexts(CGROUP_METRICS, subjects), ...scrapeError(0)];
}

/** 1: the cgroups could not be read. */
export function scrapeError(value: 0 | 1): readonly MetricText[] {
  return single(untimed(CONTAINER_ERROR.name, CONTAINER_ERROR.help, value));
}

function untimed(name: string, help: string, value: number): PageMetric<undefined> {
  return { ...gauge<undefined>(name, help, () => value), isTimed: false };
}

function single(metric: PageMetric<undefined>, labels: Readonly<Record<string, string>> = {}): readonly MetricText[] {
  return subjectTexts([metric], [{ view: undefined, labels, timeMs: 0 }]);
}
