// `make conformance`: runs Kubernetes' node conformance tests against Nodelet and, as the reference, against kubelet.
// Each subject runs in a node of its own inside this machine (enter-node.sh); images come from a local registry.
//
//   --subject NAME   kubelet-containerd, nodelet-containerd, nodelet; repeatable (default: all three)
//   --focus REGEXP   only specs whose text matches
//   --failed         only specs that failed in the last run; their new results replace the old ones
//   --groups         only the groups that `make test` runs; fails when one of their specs fails
//   --procs N        specs at a time (default 8)
//   --attempts N     runs of a spec until it counts as failed (default 2)
//   --timeout TIME   of the run of one subject (default 60m)
//   --reports DIR    where reports and logs go (default: /tmp/conformance, or /tmp/conformance-part for chosen specs)
//   --page           write docs/conformance.md out of the reports that are there, without running
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, release, tmpdir, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { debianRoot } from '../critest/debian-root.ts';
import { acquireMachineLock } from '../critest/machine-lock.ts';
import { clusterToolsFolder, clusterToolsSkipReason } from '../integration/cluster-tools.ts';
import { skipReason as containerdSkipReason } from '../integration/containerd-fixture.ts';
import { registryMissingReason } from '../integration/registry-fixture.ts';
import { embeddedSkipReason } from '../integration/runtime-fixture.ts';
import { CONFORMANCE_PACKAGES } from './conformance-images.ts';
import { GROUPS_FOCUS } from './groups.ts';
import { type NodeFootprint, newNodeFootprint, removeNode } from './node-cleanup.ts';
import { type RunOfSubject, type RunRecord, renderPage } from './page.ts';
import { printResults } from './print-results.ts';
import { MACHINE_REASONS, REASONS } from './reasons.ts';
import { focusOn, type RunPlan, reportFile, reportFiles } from './run-plan.ts';
import { mergeResults, parseReport, type SpecResult } from './spec-report.ts';
import { isSubjectName, SUBJECT_NAMES, SUBJECTS, type SubjectName } from './subjects.ts';
import { keepVmSection } from './vm-section.ts';

const PAGE = join(import.meta.dirname, '../../docs/conformance.md');
const NODELET = join(import.meta.dirname, '../../bin/nodelet');
const NODE_ADDRESS = '10.200.0.2'; // of enter-node.sh
const text = { type: 'string' } as const;
const flag = { type: 'boolean', default: false } as const;
const { values: options } = parseArgs({
  options: {
    subject: { type: 'string', multiple: true },
    focus: text,
    failed: flag,
    groups: flag,
    procs: text,
    attempts: text,
    timeout: text,
    reports: text,
    page: flag,
  },
});
/** Whether all specs run: only then the results replace those of the page. */
const isWhole = !options.groups && options.focus === undefined;
const reports = options.reports ?? join(tmpdir(), isWhole ? 'conformance' : 'conformance-part');

if (options.page) writePage();
else await main();

async function main(): Promise<void> {
  const names = subjectNames();
  const unfit = skipReason();
  if (unfit) return console.log(`conformance: skipped: ${unfit}`);
  using _lock = await acquireMachineLock('conformance'); // for the cores: timing decides many specs
  debianRoot(dirname(clusterToolsFolder()), CONFORMANCE_PACKAGES); // downloaded here: the node reaches no network
  let failed = 0;
  for (const name of names) failed += await runSubject(name);
  if (isWhole && SUBJECT_NAMES.every((name) => existsSync(join(reports, name, 'run.json')))) writePage();
  if (options.groups && failed > 0) process.exitCode = 1;
}

function subjectNames(): readonly SubjectName[] {
  const unknown = options.subject?.find((name) => !isSubjectName(name));
  if (unknown !== undefined) throw new Error(`unknown subject ${unknown}; there are ${SUBJECT_NAMES.join(', ')}`);
  const chosen = options.subject?.filter(isSubjectName);
  return chosen ?? (options.groups ? ['nodelet'] : SUBJECT_NAMES);
}

function skipReason(): string | false {
  if (!existsSync('/sys/fs/cgroup/memory/tasks'))
    return 'needs cgroup v1: a node of its own is made of its hierarchies';
  if (!existsSync('/etc/containerd')) return 'needs /etc/containerd, where a spec looks up the handlers of the runtime';
  return (
    clusterToolsSkipReason('e2e_node.test', 'ginkgo', 'agnhost', 'kubelet') ||
    embeddedSkipReason() ||
    containerdSkipReason() ||
    registryMissingReason()
  );
}

/** Returns how many specs failed. */
async function runSubject(name: SubjectName): Promise<number> {
  const own = join(reports, name);
  if (!options.failed) rmSync(own, { recursive: true, force: true });
  mkdirSync(own, { recursive: true });
  const focus = options.failed ? focusOn(failedSpecs(own)) : (options.focus ?? (options.groups ? GROUPS_FOCUS : ''));
  if (options.failed && focus === '') return 0;
  const footprint = newNodeFootprint();
  const plan: RunPlan = {
    subject: name,
    folder: footprint.folder,
    reports: own,
    focus,
    procs: Number(options.procs ?? 8),
    attempts: Number(options.attempts ?? 2),
    timeout: options.timeout ?? '60m',
    report: reportFile(reportFiles(readdirSync(own)).length + 1),
    node: { address: NODE_ADDRESS, cgroupDriver: 'cgroupfs', nodelet: NODELET, pullsFirst: [], settleSeconds: 0 },
  };
  const nodelet = isWhole ? currentCommit() : ''; // before the run, which loads what the checkout has now
  const started = performance.now();
  try {
    await enterNode(plan, footprint);
  } finally {
    removeNode(footprint);
  }
  const seconds = Math.round((performance.now() - started) / 1000);
  if (isWhole && !options.failed)
    writeFileSync(join(own, 'run.json'), JSON.stringify(runRecord(plan, nodelet, seconds)));
  if (!existsSync(join(own, plan.report))) throw new Error(`${name}: no report; see ${join(own, 'ginkgo.log')}`);
  return printResults(SUBJECTS[name].title, results(own), { seconds, logs: own });
}

async function enterNode(plan: RunPlan, { folder, cgroup }: NodeFootprint): Promise<void> {
  const file = join(plan.reports, 'plan.json');
  writeFileSync(file, JSON.stringify(plan));
  const program = [join(import.meta.dirname, '../../scripts/node'), join(import.meta.dirname, 'run-in-node.ts'), file];
  const env = { ...process.env, TMPDIR: join(folder, 't') };
  mkdirSync(env.TMPDIR, { recursive: true });
  const node = ['--pdeathsig', 'KILL', join(import.meta.dirname, 'enter-node.sh'), cgroup, folder, ...program];
  const child = spawn('setpriv', node, { stdio: 'inherit', env });
  await once(child, 'exit');
}

function runRecord({ procs, attempts }: RunPlan, nodelet: string, seconds: number): RunRecord {
  return { seconds, procs, attempts, cores: cpus().length, nodelet, date: new Date().toISOString() };
}

function currentCommit(): string {
  const args = ['-C', import.meta.dirname, 'rev-parse', '--short', 'HEAD'];
  return execFileSync('git', args, { encoding: 'utf8' }).trim();
}

function failedSpecs(own: string): readonly string[] {
  return results(own).flatMap(({ state, text }) => (state === 'failed' ? [text] : []));
}

function results(own: string): readonly SpecResult[] {
  const files = reportFiles(readdirSync(own));
  return mergeResults(files.map((file) => parseReport(readFileSync(join(own, file), 'utf8'))));
}

function writePage(): void {
  const [reference, ...subjects] = SUBJECT_NAMES.map(runOfSubject);
  if (reference === undefined) throw new Error('no subject is the reference');
  const input = { reference, subjects, machine: machine(), reasons: REASONS, machineReasons: MACHINE_REASONS };
  writeFileSync(PAGE, keepVmSection(readFileSync(PAGE, 'utf8'), renderPage(input)));
  console.log(`conformance: wrote ${PAGE}`);
}

function runOfSubject(name: SubjectName): RunOfSubject {
  const own = join(reports, name);
  const record: RunRecord = JSON.parse(readFileSync(join(own, 'run.json'), 'utf8'));
  const reruns = reportFiles(readdirSync(own)).length - 1;
  return { title: SUBJECTS[name].title, specs: results(own), record, reruns };
}

function machine(): string {
  const system = /^PRETTY_NAME="(.*)"$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'Linux';
  const version = (...command: [string, ...string[]]): string => {
    const [program, ...args] = command;
    return execFileSync(program, args, { encoding: 'utf8' }).split('\n', 1)[0]?.trim() ?? '';
  };
  const memory = Math.round(totalmem() / 2 ** 30);
  const modules = [
    existsSync('/sys/module/apparmor') ? 'AppArmor' : 'no AppArmor',
    existsSync('/sys/fs/selinux') ? 'SELinux' : 'no SELinux',
  ];
  return [
    `${system}, Linux ${release()}, ${cpus().length} cores, ${memory} GiB of memory, cgroup v1, ${modules.join(', ')}.`,
    `${version('containerd', '--version')}; ${version('runc', '--version')}; ${version('crun', '--version')};`,
    `${version('conmon', '--version')}.`,
  ].join('\n');
}
