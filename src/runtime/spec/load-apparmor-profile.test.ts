import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LogFields } from '../../base/log.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import type { Program } from '../../host/fake/memory-process.ts';
import { type AppArmorMachine, type AppArmorPlan, chooseDefaultProfile, planAppArmor } from './apparmor-default.ts';
import { AppArmorLoader } from './load-apparmor-profile.ts';

const PROFILES = '/sys/kernel/security/apparmor/profiles';
const PARSER = '/sbin/apparmor_parser';
const RECORD = '/run/n/apparmor-profile';
const NO_PARSER = 'apparmor_parser is not installed: install the package apparmor';
const CANNOT = 'cannot load AppArmor profile nodelet-default:';

const machine: AppArmorMachine = { loaded: new Set(), parser: PARSER, previousText: undefined, text: 'v2' };
const ours = new Set(['nodelet-default']);
const plans: Record<string, { given: Partial<AppArmorMachine>; plan: AppArmorPlan }> = {
  'loads a missing profile': { given: {}, plan: { kind: 'load', parser: PARSER } },
  'loads it again after it was unloaded': { given: { previousText: 'v2' }, plan: { kind: 'load', parser: PARSER } },
  'keeps its own': { given: { loaded: ours, previousText: 'v2' }, plan: { kind: 'keep' } },
  'keeps that of the operator': { given: { loaded: ours }, plan: { kind: 'keep' } },
  'replaces that of another version': {
    given: { loaded: ours, previousText: 'v1' },
    plan: { kind: 'load', parser: PARSER },
  },
  'needs the parser': { given: { parser: undefined }, plan: { kind: 'impossible', reason: NO_PARSER } },
  'needs no parser for a loaded profile': { given: { loaded: ours, parser: undefined }, plan: { kind: 'keep' } },
  'needs the parser to replace': {
    given: { loaded: ours, previousText: 'v1', parser: undefined },
    plan: { kind: 'impossible', reason: NO_PARSER },
  },
};

for (const [name, { given, plan }] of Object.entries(plans)) {
  test(`planAppArmor() ${name}`, () => assert.deepEqual(planAppArmor({ ...machine, ...given }), plan));
}

test('chooseDefaultProfile() prefers ours, then that of another runtime', () => {
  const choose = (loaded: readonly string[], reason?: string) => chooseDefaultProfile(new Set(loaded), reason);
  assert.deepEqual(choose(['docker-default', 'nodelet-default']), { kind: 'applied', profile: 'nodelet-default' });
  assert.deepEqual(choose(['crio-default', 'mine'], 'no'), {
    kind: 'applied',
    profile: 'crio-default',
    reason: `${CANNOT} no`,
  });
  assert.deepEqual(choose(['nodelet-default'], 'no'), {
    kind: 'applied',
    profile: 'nodelet-default',
    reason: `${CANNOT} no`,
  });
  assert.deepEqual(choose(['mine'], 'no'), { kind: 'missing', reason: `${CANNOT} no` });
});

/** A machine with AppArmor whose parser loads what it reads. */
async function appArmorMachine({ parser }: { readonly parser?: Program } = {}) {
  const host = createMemoryHost();
  const { fs, processes } = host;
  for (const folder of ['/sys/kernel/security/apparmor', '/sbin', '/run/n', '/proc/self/attr']) {
    await fs.makeDirectory(folder);
  }
  await fs.writeFile(PROFILES, '/usr/bin/man (enforce)\n');
  await fs.writeFile('/proc/self/attr/current', 'nodelet-agent (enforce)\n');
  const runs: { readonly args: readonly string[]; readonly text: string }[] = [];
  processes.install(PARSER, async (context) => {
    runs.push({ args: context.args, text: new TextDecoder().decode(context.input) });
    if (parser) return parser(context);
    await fs.writeFile(PROFILES, '/usr/bin/man (enforce)\nnodelet-default (enforce)\n');
    return 0;
  });
  const logged: [string, LogFields | undefined][] = [];
  const log = {
    info: (message: string, fields?: LogFields) => void logged.push([message, fields]),
    warn: (message: string, fields?: LogFields) => void logged.push([message, fields]),
  };
  const installParser = () => fs.writeFile(PARSER, '');
  return {
    fs,
    clock: host.clock,
    runs,
    logged,
    installParser,
    open: () => new AppArmorLoader({ ...host, log, recordPath: RECORD }),
  };
}

test('AppArmor loads the profile once, and again after it was unloaded', async () => {
  const { fs, runs, installParser, open } = await appArmorMachine();
  await installParser();
  const appArmor = open();
  const [state] = await Promise.all([appArmor.refresh(), appArmor.refresh()]);
  assert.deepEqual(state, {
    loaded: new Set(['/usr/bin/man', 'nodelet-default']),
    byDefault: { kind: 'applied', profile: 'nodelet-default' },
  });
  assert.deepEqual(appArmor.byDefault(), state.byDefault);
  await appArmor.refresh();
  await open().refresh(); // the next process
  assert.equal(runs.length, 1);
  assert.deepEqual(runs[0]?.args, ['-Kr']);
  assert.match(runs[0].text, /profile nodelet-default .*peer=nodelet-agent,/s);
  assert.equal(await fs.readText(RECORD), runs[0].text);
  await fs.writeFile(PROFILES, '');
  assert.deepEqual((await appArmor.refresh()).byDefault, state.byDefault);
  assert.equal(runs.length, 2);
});

test('AppArmor replaces the profile of a previous version', async () => {
  const { fs, runs, installParser, open } = await appArmorMachine();
  await installParser();
  await fs.writeFile(PROFILES, 'nodelet-default (enforce)\n');
  await open().refresh();
  assert.equal(runs.length, 0);
  await fs.writeFile(RECORD, 'profile nodelet-default {}');
  await open().refresh();
  assert.equal(runs.length, 1);
});

test('AppArmor without its parser warns once, until the package is installed', async () => {
  const { clock, logged, installParser, open } = await appArmorMachine();
  const appArmor = open();
  const { byDefault } = await appArmor.refresh();
  await appArmor.refresh();
  assert.deepEqual(byDefault, { kind: 'missing', reason: `${CANNOT} ${NO_PARSER}` });
  await installParser();
  await clock.advance(60_000);
  await appArmor.refresh();
  assert.deepEqual(logged, [
    ['containers that specify no AppArmor profile run unconfined', { reason: `${CANNOT} ${NO_PARSER}` }],
    ['default AppArmor profile is loaded', { profile: 'nodelet-default' }],
  ]);
});

test('AppArmor reports what the parser says, and uses the profile of another runtime', async () => {
  const parser: Program = async ({ stderr }) => {
    stderr('Access denied.\n');
    return 1;
  };
  const { fs, clock, runs, logged, installParser, open } = await appArmorMachine({ parser });
  await installParser();
  await fs.writeFile(PROFILES, 'docker-default (enforce)\n');
  const reason = `${CANNOT} ${PARSER} ended with exit code 1: Access denied.`;
  const appArmor = open();
  const byDefault = { kind: 'applied', profile: 'docker-default', reason };
  assert.deepEqual((await appArmor.refresh()).byDefault, byDefault);
  await clock.advance(59_999);
  assert.deepEqual((await appArmor.refresh()).byDefault, byDefault);
  assert.equal(runs.length, 1);
  await clock.advance(1);
  await appArmor.refresh();
  assert.equal(runs.length, 2);
  assert.deepEqual(logged, [['default AppArmor profile is not the current one', byDefault]]);
});

test('AppArmor without securityfs has no default profile', async () => {
  const { fs, installParser, open } = await appArmorMachine();
  await installParser();
  await fs.remove(PROFILES);
  assert.deepEqual((await open().refresh()).byDefault, {
    kind: 'missing',
    reason: `${CANNOT} ${PROFILES} does not exist: mount securityfs at /sys/kernel/security`,
  });
});
