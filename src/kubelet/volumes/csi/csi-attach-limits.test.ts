import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { silentLog } from '../../../base/log.ts';
import { createMemoryHost } from '../../../host/fake/memory-host.ts';
import { createMemoryApiServer } from '../../api-client/fake/memory-api-server.ts';
import { CsiAttachLimits } from './csi-attach-limits.ts';

const FOREVER = new AbortController().signal;
const DRIVER = 'disk.example.com';

interface Given {
  readonly id?: string;
  readonly periodSeconds?: number;
  /** Of the VolumeAttachment; `null`: it does not exist. */
  readonly errorCode?: number | null;
}

async function isExceeded({ id = `kubernetes.io/csi/${DRIVER}^h^1`, periodSeconds, errorCode }: Given) {
  const { clock, random } = createMemoryHost();
  const { direct: api } = createMemoryApiServer({ clock, random });
  const spec = { ...(periodSeconds !== undefined && { nodeAllocatableUpdatePeriodSeconds: periodSeconds }) };
  const driver = { resource: 'csidrivers', namespace: '', name: DRIVER } as const;
  await api.create(driver, { metadata: { name: DRIVER }, spec }, FOREVER);
  if (errorCode !== null) {
    const name = `csi-${createHash('sha256').update(`h^1${DRIVER}box`).digest('hex')}`;
    const key = { resource: 'volumeattachments', namespace: '', name } as const;
    const source = { persistentVolumeName: 'pv-1' };
    await api.create(key, { metadata: { name }, spec: { attacher: DRIVER, nodeName: 'box', source } }, FOREVER);
    const attachError = { message: 'full', ...(errorCode !== undefined && { errorCode }) };
    await api.patch(key, { status: { attached: false, attachError } }, { subresource: 'status' }, FOREVER);
  }
  return new CsiAttachLimits({ api, nodeName: 'box', log: silentLog }).isExceeded(id, FOREVER);
}

const cases: Record<string, Given & { want: boolean }> = {
  'a driver that reports its limits, and has no room': { periodSeconds: 10, errorCode: 8, want: true },
  'a driver that does not report its limits again': { errorCode: 8, want: false },
  'another error': { periodSeconds: 10, errorCode: 13, want: false },
  'an error without a code': { periodSeconds: 10, want: false },
  'a volume that the controller does not attach yet': { periodSeconds: 10, errorCode: null, want: false },
  'a missing driver': { id: 'kubernetes.io/csi/other.example.com^h', periodSeconds: 10, errorCode: 8, want: false },
  'a volume of another type': { id: 'kubernetes.io/fc/50060e801049cfd1-0', periodSeconds: 10, want: false },
};

for (const [what, { want, ...given }] of Object.entries(cases)) {
  test(`CsiAttachLimits: ${what}`, async () => assert.equal(await isExceeded(given), want));
}
