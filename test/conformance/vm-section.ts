import { countStates, type SubjectResults } from './comparison.ts';
import { type RunRecord, table } from './page.ts';

/** Results of one subject in the virtual machine. */
export interface VmRun extends SubjectResults {
  readonly record: Pick<RunRecord, 'seconds' | 'nodelet' | 'date'>;
}

export interface VmSection {
  readonly runs: readonly VmRun[];
  /** What the names of specs begin with. */
  readonly groups: readonly string[];
  readonly attempts: number;
}

const HEADING = '## In the virtual machine';

/** The page with this section in place of an earlier one. It is the last section. */
export function replaceVmSection(page: string, section: VmSection): string {
  return `${withoutVmSection(page).trimEnd()}\n\n${render(section)}\n`;
}

/** A new page with the section of the previous one, if that has one. */
export function keepVmSection(previous: string, page: string): string {
  const start = previous.indexOf(HEADING);
  return start === -1 ? page : `${withoutVmSection(page).trimEnd()}\n\n${previous.slice(start)}`;
}

function withoutVmSection(page: string): string {
  const start = page.indexOf(HEADING);
  return start === -1 ? page : page.slice(0, start);
}

function render({ runs, groups, attempts }: VmSection): string {
  const names = runs.map(({ title }) => title);
  const rows = groups
    .filter((group) => runs.some(({ specs }) => specs.some(({ name }) => name.startsWith(group))))
    .map((group) => [group, ...runs.map(({ specs }) => counted(specs.filter(({ name }) => name.startsWith(group))))]);
  const totals = ['all', ...runs.map(({ specs }) => counted(specs))];
  const failures = runs.flatMap(({ title, specs }) =>
    specs
      .filter(({ state }) => state === 'failed')
      .map(({ name, message }) => [name, title, message.split('\n', 1)[0]?.trim() ?? '']),
  );
  return [
    `${HEADING}\n\n${introduction(runs, attempts)}`,
    table(['group', ...names], [...rows, totals]),
    failures.length === 0 ? 'None failed.' : table(['failed', 'subject', 'message'], failures),
  ].join('\n\n');
}

function introduction(runs: readonly VmRun[], attempts: number): string {
  const records = runs.map(
    ({ title, record: { seconds, nodelet, date } }) =>
      `${title}: ${Math.round(seconds / 60)} minutes, ${date.slice(0, 10)}, commit ${nodelet}.`,
  );
  return `\`make vm-conformance\` runs groups of specs (\`test/vm/judges/conformance-groups.ts\`) in a virtual machine that QEMU emulates:
Debian 13, systemd, cgroup v2 and AppArmor, \`cgroupDriver: systemd\`, kubelet as a unit of systemd. One spec at a time; a spec that fails runs again, ${attempts} times in all. Each
cell is: passed, failed, skipped; a group without results is not listed. ${records.join(' ')}`;
}

function counted(specs: VmRun['specs']): string {
  const { passed, failed, skipped } = countStates(specs);
  return `${passed}, ${failed}, ${skipped}`;
}
