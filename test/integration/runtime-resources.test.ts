import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { claimSubnet } from './claimed-subnet.ts';
import { mountedCgroups } from './runtime-cleanup.ts';
import { embeddedSkipReason } from './runtime-fixture.ts';
import { emptyPortChains, listRuntimeResources } from './runtime-resources.ts';

const skip = embeddedSkipReason();
const ID = 'a'.repeat(64);
const SUBNET = claimSubnet().v4;

interface Place {
  readonly folder: string;
  readonly cgroupParent: string;
  readonly bridge: string;
}

/** Resources that a crash could leave: created here, and removed by the returned function. */
type Leak = (place: Place) => Promise<() => unknown>;

const file =
  (path: string): Leak =>
  async ({ folder }) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), '');
    return () => rmSync(join(folder, path));
  };

const folder =
  (path: string): Leak =>
  async ({ folder }) => {
    mkdirSync(join(folder, path), { recursive: true });
    return () => rmdirSync(join(folder, path));
  };

const LEAKS: Readonly<Record<string, Leak>> = {
  'the record of a sandbox': file(`root/runtime/sandboxes/${ID}.json`),
  'the record of a container': file(`root/runtime/containers/${ID}.json`),
  'a record that was cut off': file(`root/runtime/containers/.${ID}.json.tmp`),
  'what is kept of a network': file(`root/runtime/cni/${ID}.json`),
  'what is kept of a network, cut off': file(`root/runtime/cni/.${ID}.json.tmp`),
  'the folder of a sandbox': folder(`state/runtime/sandboxes/${ID}`),
  'a bundle': folder(`state/runtime/containers/${ID}`),
  'an exit code': file(`state/runtime/exits/${ID}`),
  'a socket of a monitor': folder(`state/runtime/s/${ID}`),
  'the state of crun': folder(`state/runtime/oci/crun/${ID}`),
  'a writable layer': folder(`root/runtime/storage/snapshots/${ID}`),
  'the view of an image': folder('root/runtime/storage/views/v'),
  'what another life left unfinished': folder('root/runtime/storage/unfinished/other'),
  'what this life left unfinished': folder('root/runtime/storage/unfinished/this/layer'),
  'an address': file('ipam/nlt-none/10.1.2.3'),
  'a mount': async ({ folder }) => {
    const target = join(folder, 'mounted');
    mkdirSync(target);
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', target]);
    return () => execFileSync('umount', [target]);
  },
  'a cgroup': async ({ cgroupParent }) => {
    const [hierarchy] = mountedCgroups();
    const parent = `${hierarchy}${cgroupParent}`;
    mkdirSync(`${parent}/c`, { recursive: true });
    return () => {
      rmdirSync(`${parent}/c`);
      rmdirSync(parent);
    };
  },
  'a process': async ({ folder }) => {
    const child = spawn('/bin/sh', ['-c', 'echo; read x', `${folder}/bundle`], { stdio: 'pipe' });
    await once(child.stdout, 'data');
    return async () => {
      child.kill('SIGKILL');
      await once(child, 'exit');
    };
  },
  'the ports of a pod': async () => {
    const chain = portChain();
    iptables('-N', chain);
    iptables('-A', chain, '-s', SUBNET, '-j', 'ACCEPT');
    return () => {
      iptables('-F', chain);
      iptables('-X', chain);
    };
  },
};

function portChain(): string {
  return `CNI-DN-${process.pid}`;
}

function iptables(...args: string[]): void {
  execFileSync('iptables', ['-w', '-t', 'nat', ...args]);
}

function newPlace(t: TestContext): Place {
  const folder = mkdtempSync(join(tmpdir(), 'traces-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'root/runtime/storage/unfinished/this'), { recursive: true });
  for (const kind of ['snapshots', 'views']) mkdirSync(join(folder, 'root/runtime/storage', kind));
  mkdirSync(join(folder, 'state/runtime/oci/crun'), { recursive: true });
  mkdirSync(join(folder, 'cni'));
  const plugins = [{ ipam: { ranges: [[{ subnet: SUBNET }]] } }];
  writeFileSync(join(folder, 'cni/10-nodelet-test.conflist'), JSON.stringify({ plugins }));
  return { folder, cgroupParent: `/nodelet-test-${basename(folder)}`, bridge: 'nlt-none' };
}

for (const [name, leave] of Object.entries(LEAKS)) {
  test(`a leak is detected: ${name}`, { skip }, async (t) => {
    const place = newPlace(t);
    const before = listRuntimeResources(place);
    const takeAway = await leave(place);
    try {
      assert.notDeepEqual(listRuntimeResources(place), before);
    } finally {
      await takeAway();
    }
    assert.deepEqual(listRuntimeResources(place), before);
  });
}

test('a leak is detected: port chains that a plugin had just created', { skip }, () => {
  const chain = portChain();
  iptables('-N', chain);
  try {
    assert.ok(emptyPortChains().includes(chain));
  } finally {
    iptables('-X', chain);
  }
  assert.ok(!emptyPortChains().includes(chain));
});
