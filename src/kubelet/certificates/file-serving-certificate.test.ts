import assert from 'node:assert/strict';
import { test } from 'node:test';
import { certificateScene, FOLDER } from './fake/certificate-scene.ts';
import { FileServingCertificate } from './file-serving-certificate.ts';
import { selfSigned } from './self-signed.ts';
import { ensureSelfSignedFiles } from './self-signed-files.ts';

const PLACE = { certificateFile: `${FOLDER}/kubelet.crt`, keyFile: `${FOLDER}/kubelet.key` };
const OWN = { folder: FOLDER, host: 'box', ipAddresses: [] };

test('ensureSelfSignedFiles() creates the files once, the key readable only for root', async () => {
  const { fs, life, ...scene } = await certificateScene();
  assert.deepEqual(await ensureSelfSignedFiles(OWN, { fs, ...scene }), PLACE);
  const before = await fs.readText(PLACE.certificateFile);
  assert.deepEqual(
    [(await fs.stat(PLACE.certificateFile))?.mode, (await fs.stat(PLACE.keyFile))?.mode],
    [0o644, 0o600],
  );
  await ensureSelfSignedFiles(OWN, { fs, ...scene });
  assert.equal(await fs.readText(PLACE.certificateFile), before);
  life.abort();
});

test('ensureSelfSignedFiles() replaces a key without a certificate, and rejects a certificate without a key', async () => {
  const { fs, life, ...scene } = await certificateScene();
  await fs.makeDirectory(FOLDER);
  await fs.writeFile(PLACE.keyFile, 'of a crash');
  await ensureSelfSignedFiles(OWN, { fs, ...scene });
  const served = new FileServingCertificate(PLACE, { fs, ...scene });
  await served.load();
  assert.deepEqual(served.current()?.subject.dnsNames, ['box']);
  await fs.remove(PLACE.keyFile);
  await assert.rejects(ensureSelfSignedFiles(OWN, { fs, ...scene }), {
    message: `error reading ${PLACE.keyFile}, certificate and key must be supplied as a pair`,
  });
  life.abort();
});

test('replaced files are served; while they do not match, the old ones are used', async () => {
  const { fs, clock, life, logged, ...scene } = await certificateScene();
  await ensureSelfSignedFiles(OWN, { fs, clock, ...scene });
  const served = new FileServingCertificate(PLACE, { fs, log: scene.log });
  await served.load();
  let notifications = 0;
  served.subscribe(() => notifications++);
  const ended = served.run(life.signal);
  await clock.advance(1);
  const [old, next] = [served.current(), await selfSigned('new', [], { ...scene, nowMs: clock.now() })];
  await fs.writeFile(PLACE.certificateFile, next.certificate);
  await clock.advance(1);
  assert.deepEqual([served.current(), notifications], [old, 0]);
  assert.match(logged.at(-1) ?? '', /keeping the old one.*private key does not match public key/);
  await fs.writeFile(PLACE.keyFile, next.key);
  await clock.advance(1);
  assert.deepEqual(
    [served.current()?.certificate, served.current()?.key, notifications],
    [next.certificate, next.key, 1],
  );
  life.abort();
  await ended;
});
