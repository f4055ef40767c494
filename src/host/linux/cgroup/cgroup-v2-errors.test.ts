import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CgroupController } from '../../cgroups.ts';
import { MemoryFileSystem } from '../../fake/memory-file-system.ts';
import { cgroupV2 } from './cgroup-v2.ts';

const POD = '/kubepods/pod1';
const ALL = 'cpu memory pids hugetlb\n';
const EMPTY_ONE =
  'set cgroupRoot to a cgroup without processes of its own (a systemd unit with Delegate=yes moves its processes to a cgroup below with DelegateSubgroup=)';

/** The kernel's files of a pod's cgroup in which all works. */
const WORKING: Readonly<Record<string, string>> = {
  '/cg/cgroup.controllers': ALL,
  '/cg/cgroup.subtree_control': ALL,
  '/cg/kubepods/cgroup.controllers': ALL,
  '/cg/kubepods/cgroup.subtree_control': ALL,
  '/cg/kubepods/cgroup.type': 'domain\n',
  '/cg/kubepods/cgroup.procs': '',
  '/cg/kubepods/pod1/cgroup.controllers': ALL,
  '/cg/kubepods/pod1/cgroup.type': 'domain\n',
};

interface Case {
  /** Files that differ. */
  readonly files?: Readonly<Record<string, string>>;
  readonly needs?: readonly CgroupController[];
  /** The error number of writing a file. */
  readonly fails?: readonly [code: string, path: string];
  readonly message?: string;
}

async function machine({ files = {}, fails }: Case) {
  const fs = new MemoryFileSystem(() => 0);
  for (const [path, text] of Object.entries({ ...WORKING, ...files })) {
    await fs.makeDirectory(path.slice(0, path.lastIndexOf('/')));
    await fs.writeFile(path, text);
  }
  if (fails) fs.errors.failNext('writeFile', fails[0], fails[1]);
  return { fs, cgroups: cgroupV2(fs, '/cg') };
}

const SUBTREE = '/cg/kubepods/cgroup.subtree_control';
/** `memory` is not enabled for the pods. */
const disabled = {
  [SUBTREE]: 'cpu pids\n',
  '/cg/kubepods/pod1/cgroup.controllers': 'cpu pids\n',
};

const controllers: Readonly<Record<string, Case>> = {
  'accepts a cgroup with all of them': { needs: ['cpu', 'memory', 'pids', 'hugetlb'] },
  'does without hugetlb on a kernel that has none': {
    files: { '/cg/cgroup.controllers': 'cpu memory\n', '/cg/kubepods/pod1/cgroup.controllers': 'cpu memory\n' },
    needs: ['cpu', 'hugetlb'],
  },
  'names a controller that the machine does not have': {
    files: { '/cg/cgroup.controllers': 'cpu pids\n', '/cg/kubepods/pod1/cgroup.controllers': 'cpu pids\n' },
    message: `cgroup ${POD}: the controller memory is not available: /cg/cgroup.controllers has only "cpu pids"; boot the kernel with memory in cgroup v2 (without cgroup_disable=memory and cgroup v1 mounts), or delegate it to the container in which the agent runs`,
  },
  'enables a controller that a parent can have': { files: disabled },
  'names a parent with processes of its own': {
    files: { ...disabled, '/cg/kubepods/cgroup.procs': '7\n8\n' },
    message: `cgroup ${POD}: the controller memory is not enabled below /kubepods: /kubepods has processes of its own (7, 8), and the kernel enables controllers only below cgroups without; ${EMPTY_ONE}`,
  },
  'names a container whose processes are in its root cgroup': {
    files: {
      '/cg/cgroup.subtree_control': '',
      '/cg/cgroup.type': 'domain\n',
      '/cg/cgroup.procs': '1\n',
      '/cg/kubepods/pod1/cgroup.controllers': '',
    },
    message: `cgroup ${POD}: the controller memory is not enabled below /: / has processes of its own (1), and the kernel enables controllers only below cgroups without; write their pids to the cgroup.procs of a new cgroup below /cg first`,
  },
  'lets the root cgroup of the machine have processes': {
    files: {
      '/cg/cgroup.subtree_control': 'cpu\n',
      '/cg/cgroup.procs': '1\n',
      '/cg/kubepods/pod1/cgroup.controllers': '',
    },
  },
  'names a parent that is busy': {
    files: disabled,
    fails: ['EBUSY', SUBTREE],
    message: `cgroup ${POD}: the controller memory is not enabled below /kubepods (EBUSY): it has processes of its own; ${EMPTY_ONE}`,
  },
  'names a threaded parent': {
    files: disabled,
    fails: ['EOPNOTSUPP', SUBTREE],
    message: `cgroup ${POD}: the controller memory is not enabled below /kubepods (EOPNOTSUPP): it is threaded; set cgroupRoot to a cgroup of type "domain"`,
  },
  'names a read-only mount': {
    files: disabled,
    fails: ['EROFS', SUBTREE],
    message: `cgroup ${POD}: /cg is mounted read-only; remount it (mount -o remount,rw /cg), or give the container in which the agent runs a writable one`,
  },
  'names a parent of another user': {
    files: disabled,
    fails: ['EACCES', SUBTREE],
    message: `cgroup ${POD}: permission denied at ${SUBTREE}; run the agent as root, or set cgroupRoot to a cgroup that is delegated to its user (Delegate=yes in a systemd unit)`,
  },
  'names real-time processes': {
    files: { [SUBTREE]: 'memory\n', '/cg/kubepods/pod1/cgroup.controllers': 'memory\n' },
    needs: ['cpu'],
    fails: ['EINVAL', SUBTREE],
    message: `cgroup ${POD}: the controller cpu is not enabled below /kubepods (EINVAL): real-time processes are in other cgroups than the root; end real-time processes, or move them to the root cgroup`,
  },
  'names any other error': {
    files: disabled,
    fails: ['ENOENT', SUBTREE],
    message: `cgroup ${POD}: the controller memory is not enabled below /kubepods (ENOENT); enable it: echo +memory > ${SUBTREE}`,
  },
};

for (const [name, each] of Object.entries(controllers)) {
  test(`requireControllers() ${name}`, async () => {
    const { cgroups } = await machine(each);
    const checked = cgroups.requireControllers(POD, each.needs ?? ['memory']);
    if (each.message === undefined) await checked;
    else await assert.rejects(checked, { name: 'CgroupError', path: POD, message: each.message });
  });
}

const creations: Readonly<Record<string, Case & { readonly code?: string }>> = {
  'a cgroup that exists': {},
  'a cgroup below one whose threads are distributed': {
    files: { '/cg/kubepods/cgroup.type': 'threaded\n', '/cg/kubepods/pod1/cgroup.type': 'domain invalid\n' },
    message: `cgroup ${POD}: it is of type "domain invalid", in which no container can run, because /kubepods is of type "threaded"; set cgroupRoot to a cgroup of type "domain"`,
  },
  'a cgroup below one with processes and controllers for threads': {
    files: {
      '/cg/kubepods/cgroup.type': 'domain threaded\n',
      '/cg/kubepods/cgroup.procs': '1\n2\n3\n4\n5\n6\n',
      '/cg/kubepods/pod1/cgroup.type': 'domain invalid\n',
    },
    message: `cgroup ${POD}: it is of type "domain invalid", in which no container can run, because /kubepods is of type "domain threaded": /kubepods has processes of its own (1, 2, 3, 4, 5, …), and the kernel enables controllers only below cgroups without; ${EMPTY_ONE}`,
  },
  'a cgroup on a read-only mount': {
    code: 'EROFS',
    message: `cgroup ${POD}: /cg is mounted read-only; remount it (mount -o remount,rw /cg), or give the container in which the agent runs a writable one`,
  },
  'a cgroup without permission': {
    code: 'EACCES',
    message: `cgroup ${POD}: permission denied at /cg/kubepods/pod1; run the agent as root, or set cgroupRoot to a cgroup that is delegated to its user (Delegate=yes in a systemd unit)`,
  },
  'more cgroups than the machine allows': {
    code: 'EAGAIN',
    message: `cgroup ${POD}: too many or too deeply nested cgroups at /cg/kubepods/pod1; raise cgroup.max.descendants or cgroup.max.depth of a cgroup above it`,
  },
};

for (const [name, each] of Object.entries(creations)) {
  test(`create() of ${name}`, async () => {
    const { fs, cgroups } = await machine(each);
    if (each.code) fs.errors.failNext('makeDirectory', each.code, '/cg/kubepods/pod1');
    const created = cgroups.create('/cg', POD);
    if (each.message === undefined) await created;
    else await assert.rejects(created, { name: 'CgroupError', message: each.message });
  });
}

test('create() enables no controller of a busy cgroup alone: that would make the cgroups below unusable', async () => {
  const { fs, cgroups } = await machine({ files: { [SUBTREE]: '' }, fails: ['EBUSY', SUBTREE] });
  await cgroups.create('/cg', POD);
  assert.equal(await fs.readText(SUBTREE), '');
});

test('update() names the missing controller of a value, and leaves other errors as they are', async () => {
  const { fs, cgroups } = await machine({ files: { ...disabled, '/cg/kubepods/cgroup.procs': '7\n' } });
  // The kernel's file system does not create files.
  fs.errors.failNext('writeFile', 'EACCES', '/cg/kubepods/pod1/memory.max');
  await assert.rejects(cgroups.update(POD, { memoryLimitBytes: 1 }), {
    name: 'CgroupError',
    message: /the controller memory is not enabled below \/kubepods: \/kubepods has processes of its own \(7\)/,
  });
  fs.errors.failNext('writeFile', 'EBUSY', '/cg/kubepods/pod1/memory.max');
  await fs.writeFile('/cg/kubepods/pod1/pids.max', 'max');
  fs.errors.failNext('writeFile', 'EINVAL', '/cg/kubepods/pod1/pids.max');
  await assert.rejects(cgroups.update(POD, { pidsLimit: 1 }), { name: 'FileSystemError', code: 'EINVAL' });
});

test('kill() writes to the file of the kernel, if there is one', async () => {
  const { fs, cgroups } = await machine({});
  assert.equal(await cgroups.kill(POD), false);
  await fs.writeFile('/cg/kubepods/pod1/cgroup.kill', '');
  assert.equal(await cgroups.kill(POD), true);
  assert.equal(await fs.readText('/cg/kubepods/pod1/cgroup.kill'), '1');
});
