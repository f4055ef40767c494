// `make vm-conformance`: runs node conformance tests in a virtual machine with systemd, cgroup v2 and AppArmor, where kubelet
// is a unit of systemd and its cgroupDriver is systemd. Images come from a registry of this machine. Afterwards it writes its
// section of docs/conformance.md, unless specs were chosen.
//
//   --subject NAME   kubelet-containerd, nodelet-containerd, nodelet; repeatable (default: nodelet)
//   --focus REGEXP   only specs whose text matches (default: conformance-groups.ts)
//   --attempts N     runs of a spec until it counts as failed (default 2)
//   --timeout TIME   of the run of one subject (default 120m)
//   --reports DIR    where reports and logs go (default: /tmp/vm-conformance)
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { printResults } from '../../conformance/print-results.ts';
import type { RunPlan } from '../../conformance/run-plan.ts';
import { serveConformanceImages } from '../../conformance/serve-images.ts';
import { parseReport, type SpecResult } from '../../conformance/spec-report.ts';
import { isSubjectName, SUBJECT_NAMES, SUBJECTS, type SubjectName } from '../../conformance/subjects.ts';
import { replaceVmSection, type VmRun } from '../../conformance/vm-section.ts';
import { clusterToolsSkipReason } from '../../integration/cluster-tools.ts';
import { registryMissingReason, type TestRegistry } from '../../integration/registry-fixture.ts';
import { withVirtualMachine } from '../booted-vm.ts';
import type { VirtualMachine } from '../virtual-machine.ts';
import { findVmFiles, type VmFiles } from '../vm-files.ts';
import { VM_GROUPS, VM_GROUPS_FOCUS, VM_GROUPS_IMAGES } from './conformance-groups.ts';
import { addressInGuest, GUEST_ADDRESS, guestCommand, NODELET, prepareGuest } from './guest.ts';

const CHECKOUT = join(import.meta.dirname, '../../..');
const PAGE = join(CHECKOUT, 'docs/conformance.md');
const RUN_IN_NODE = 'test/conformance/run-in-node.ts';
/** In the guest. */
const REPORTS = '/var/tmp/reports';
const REPORT = 'report-1.json';
/** Until the suite ends by its own limit, with the start of the runtime and all pulls before it. */
const RUN_SECONDS = 4 * 3600;

const text = { type: 'string' } as const;
const { values: options } = parseArgs({
  options: {
    subject: { type: 'string', multiple: true },
    focus: text,
    attempts: { type: 'string', default: '2' },
    timeout: { type: 'string', default: '120m' },
    reports: { type: 'string', default: join(tmpdir(), 'vm-conformance') },
  },
});

process.exitCode = await main();

async function main(): Promise<number> {
  const names = subjectNames();
  const files = findVmFiles(CHECKOUT);
  const missing = clusterToolsSkipReason('e2e_node.test', 'ginkgo', 'agnhost', 'kubelet') || registryMissingReason();
  if (typeof files === 'string' || missing) {
    console.log(`vm-conformance: skipped: ${typeof files === 'string' ? files : missing}`);
    return 0;
  }
  const registry = await serveConformanceImages();
  try {
    const runs: VmRun[] = [];
    for (const name of names) runs.push(await runSubject(name, files, registry));
    if (options.focus === undefined) writeSection(runs);
    return runs.some(({ specs }) => specs.length === 0 || specs.some(({ state }) => state === 'failed')) ? 1 : 0;
  } finally {
    await registry.stop();
  }
}

function subjectNames(): readonly SubjectName[] {
  const names = options.subject ?? ['nodelet'];
  const unknown = names.find((name) => !isSubjectName(name));
  if (unknown !== undefined) throw new Error(`unknown subject ${unknown}; there are ${SUBJECT_NAMES.join(', ')}`);
  return names.filter(isSubjectName);
}

/** Each subject has a machine of its own. */
async function runSubject(subject: SubjectName, files: VmFiles, registry: TestRegistry): Promise<VmRun> {
  const logs = join(options.reports, subject);
  rmSync(logs, { recursive: true, force: true });
  mkdirSync(logs, { recursive: true });
  const { title } = SUBJECTS[subject];
  const nodelet = currentCommit();
  const started = performance.now();
  const tools = ['e2e_node.test', 'ginkgo', 'kubelet'] as const;
  const specs = await withVirtualMachine({ files, tools, scripts: [RUN_IN_NODE] }, (vm) =>
    runInGuest(vm, planOf(subject, registry), logs),
  );
  const seconds = Math.round((performance.now() - started) / 1000);
  printResults(title, specs, { seconds, logs });
  return { title, specs, record: { seconds, nodelet, date: new Date().toISOString() } };
}

function writeSection(runs: readonly VmRun[]): void {
  const section = { runs, groups: VM_GROUPS, attempts: Number(options.attempts) };
  writeFileSync(PAGE, replaceVmSection(readFileSync(PAGE, 'utf8'), section));
  console.log(`vm-conformance: wrote ${PAGE}`);
}

function planOf(subject: SubjectName, registry: TestRegistry): RunPlan {
  return {
    subject,
    folder: '/var/tmp/node',
    reports: REPORTS,
    focus: options.focus ?? VM_GROUPS_FOCUS,
    procs: 1,
    attempts: Number(options.attempts),
    timeout: options.timeout,
    report: REPORT,
    node: {
      address: GUEST_ADDRESS,
      cgroupDriver: 'systemd',
      nodelet: NODELET,
      registry: addressInGuest(registry),
      pullsFirst: VM_GROUPS_IMAGES,
      settleSeconds: 100,
    },
  };
}

/** Copies the logs to this machine. */
async function runInGuest(vm: VirtualMachine, plan: RunPlan, logs: string): Promise<readonly SpecResult[]> {
  await prepareGuest(vm);
  await vm.expect(`mkdir -p ${plan.folder} ${plan.reports}`);
  await vm.write('/var/tmp/plan.json', JSON.stringify(plan));
  const command = guestCommand(RUN_IN_NODE, ['/var/tmp/plan.json']);
  await vm.run(command, RUN_SECONDS, (output) => process.stdout.write(output));
  for (const name of ['ginkgo.log', 'kubelet.log', REPORT]) {
    const { stdout } = await vm.run(`cat ${join(REPORTS, name)}`);
    writeFileSync(join(logs, name), stdout);
  }
  const report = readFileSync(join(logs, REPORT), 'utf8');
  if (report === '') throw new Error(`${plan.subject}: no report; see ${join(logs, 'ginkgo.log')}`);
  return parseReport(report);
}

function currentCommit(): string {
  return execFileSync('git', ['-C', CHECKOUT, 'rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
}
