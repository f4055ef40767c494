import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import { type CriConnection, connectCri } from '../../src/cri/client.ts';
import { linuxClock } from '../../src/host/linux/process/linux-clock.ts';
import { containerdErrors } from '../contract/cri/expected-errors.ts';
import type { Subject } from '../contract/cri/subject.ts';
import type { TestContainerd } from './containerd-fixture.ts';

/** A client of a containerd, without events. Stopping it leaves containerd running. */
export function containerdSubject(containerd: TestContainerd): Subject & { readonly cri: CriConnection } {
  const cri = connectCri(containerd.endpoint, { clock: linuxClock, runtimeRequestTimeoutMs: 30_000 });
  return {
    cri,
    events: { watch: () => assert.fail('not used here') },
    image: BUSYBOX_IMAGE,
    unpullable: '',
    errors: containerdErrors('Unknown'),
    logDirectory: join(containerd.folder, 'logs'),
    cgroupParent: containerd.cgroupParent,
    readLog: (path) => readFile(path, 'utf8'),
    stop: async () => cri.close(),
  };
}
