import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { MemoryKernelLog } from '../../host/fake/memory-kernel-log.ts';
import { eventLoopTurn } from '../../host/linux/process/event-loop-turn.ts';
import { watchOomKills } from './oom-watcher.ts';

const FIRST = 'stress invoked oom-killer: gfp_mask=0x100cca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=0';
const LAST = 'Killed process 4711 (stress) total-vm:1048576kB, anon-rss:1024kB, file-rss:0kB, shmem-rss:0kB';
const SYSTEM = ['Warning SystemOOM System OOM encountered, victim process: stress, pid: 4711'];

const cases: Record<string, { lines: readonly string[]; events: readonly string[] }> = {
  'of the machine': {
    lines: [
      FIRST,
      'Mem-Info:',
      'oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/user,task=stress,pid=4711,uid=0',
      `Out of memory: ${LAST}`,
    ],
    events: SYSTEM,
  },
  'of a container': {
    lines: [
      FIRST,
      'oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=c,mems_allowed=0,oom_memcg=/kubepods/pod1,task_memcg=/kubepods/pod1/c,task=stress,pid=4711,uid=0',
      `Memory cgroup out of memory: ${LAST}`,
    ],
    events: [],
  },
  'of the root cgroup': {
    lines: [
      FIRST,
      'oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/,task_memcg=/,task=stress,pid=4711,uid=0',
    ],
    events: SYSTEM,
  },
  'of a container on an old kernel': {
    lines: [FIRST, 'Task in /kubepods/pod1/c killed as a result of limit of /kubepods/pod1', LAST],
    events: [],
  },
  'of the machine on an old kernel': { lines: [FIRST, LAST], events: SYSTEM },
  'without its first line': { lines: [`Out of memory: ${LAST}`], events: [] },
  twice: { lines: [FIRST, LAST, FIRST, LAST], events: [...SYSTEM, ...SYSTEM] },
};

async function watching(write: (log: MemoryKernelLog) => void): Promise<readonly string[]> {
  const stop = new AbortController();
  const kernelLog = new MemoryKernelLog();
  const recorded: string[] = [];
  const events = { record: (...event: readonly string[]) => void recorded.push(event.join(' ')) };
  const watch = watchOomKills({ kernelLog, events, log: silentLog }, stop.signal);
  write(kernelLog);
  await eventLoopTurn();
  stop.abort();
  await watch;
  return recorded;
}

for (const [what, { lines, events }] of Object.entries(cases)) {
  test(`watchOomKills() with a kill ${what}`, async () => {
    assert.deepEqual(
      await watching((log) => {
        for (const line of lines) log.write(line);
      }),
      events,
    );
  });
}

test('watchOomKills() ignores what programs write to the log', async () => {
  const USER = 1;
  const found = await watching((log) => {
    for (const line of [FIRST, LAST]) log.write(line, USER);
  });
  assert.deepEqual(found, []);
});
