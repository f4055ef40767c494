/** Loads an image archive into a storage directory: `load-image-child.ts STORAGE ARCHIVE`. For tests that kill it. */
import { silentLog } from '../../src/base/log.ts';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import { openStorage } from '../../src/runtime/open-storage.ts';

const [storage = '', archive = ''] = process.argv.slice(2);
const { loader } = await openStorage({
  ...createLinuxHost(process.env),
  log: silentLog,
  paths: { storage },
  settings: { pinnedImages: [] },
  architecture: 'amd64',
});
await loader.loadArchive(archive, {}, AbortSignal.timeout(60_000));
