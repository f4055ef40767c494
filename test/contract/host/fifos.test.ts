/** The contract of FIFOs. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, readSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { MemoryFifos } from '../../../src/host/fake/memory-fifos.ts';
import type { Fifos } from '../../../src/host/fifos.ts';
import { linuxFifos } from '../../../src/host/linux/fs/linux-fifos.ts';
import { temporaryFolder } from './temporary-folder.ts';

interface FifoWorld {
  readonly fifos: Fifos;
  readonly path: string;
  /** Opens the FIFO for reading and writing, as another program. */
  hold(): void;
  /** Closes it; returns what was written. */
  release(): string;
}

const never = new AbortController().signal;

fifosContract('linux', async (t) => {
  const path = `${await temporaryFolder(t)}/fifo`;
  let fd = -1;
  return {
    fifos: linuxFifos,
    path,
    hold: () => {
      execFileSync('mkfifo', [path]);
      fd = openSync(path, 'r+');
    },
    release: () => {
      const bytes = Buffer.alloc(100);
      // Our own mark is in the FIFO, so that the read does not block.
      execFileSync('sh', ['-c', `printf . >${path}`]);
      const text = bytes.toString('utf8', 0, readSync(fd, bytes));
      closeSync(fd);
      return text.slice(0, -1);
    },
  };
});
fifosContract('memory', async () => {
  const [fifos, path] = [new MemoryFifos(), '/data/fifo'];
  return { fifos, path, hold: () => fifos.hold(path), release: () => fifos.release(path) };
});

function fifosContract(name: string, makeWorld: (t: TestContext) => Promise<FifoWorld>): void {
  test(`${name} fifos: a missing one has ended and has no reader`, async (t) => {
    const { fifos, path } = await makeWorld(t);
    await fifos.untilWritersClose(path, never);
    assert.equal(await fifos.write(path, 'x'), false);
  });

  test(`${name} fifos: data reaches the reader, and its close is noticed`, async (t) => {
    const { fifos, path, hold, release } = await makeWorld(t);
    hold();
    assert.equal(await fifos.write(path, 'hello\n'), true);
    assert.equal(release(), 'hello\n');
    await fifos.untilWritersClose(path, never);
    assert.equal(await fifos.write(path, 'x'), false);
  });

  test(`${name} fifos: the close is noticed while waiting`, async (t) => {
    const { fifos, path, hold, release } = await makeWorld(t);
    hold();
    const controller = new AbortController();
    const aborted = fifos.untilWritersClose(path, controller.signal);
    controller.abort(new Error('enough'));
    await assert.rejects(aborted, { message: 'enough' });
    const ends = Promise.all([fifos.untilWritersClose(path, never), fifos.untilWritersClose(path, never)]);
    assert.equal(await fifos.write(path, 'not for us\n'), true);
    assert.equal(release(), 'not for us\n');
    await ends;
  });
}
