import type { Log } from '../../src/base/log.ts';
import type { Host } from '../../src/host/host.ts';
import type { ApiServer } from '../../src/kubelet/api-client/api-server.ts';
import { withApiTimeouts } from '../../src/kubelet/api-client/api-timeouts.ts';
import { CertificateRotation } from '../../src/kubelet/certificates/certificate-rotation.ts';
import { CertificateStore, type CertificateStorePaths } from '../../src/kubelet/certificates/certificate-store.ts';
import { nodeSubject } from '../../src/kubelet/certificates/certificate-subject.ts';
import { CLIENT_SIGNER } from '../../src/kubelet/certificates/request-certificate.ts';
import { NODE_NAME } from './sim-sources.ts';

export const CERTIFICATES: CertificateStorePaths = { prefix: 'kubelet-client', folder: '/var/lib/kubelet/pki' };

/** The node's client certificate in one agent process. The in-memory server does not check it. */
export async function loadCertificates(host: Host, api: ApiServer, log: Log): Promise<CertificateRotation> {
  const subject = nodeSubject(NODE_NAME);
  const rotation = new CertificateRotation(
    { signerName: CLIENT_SIGNER, usages: ['digital signature', 'client auth'] },
    {
      ...host,
      keys: host.signingKeys,
      store: new CertificateStore(CERTIFICATES, host),
      wanted: { current: () => subject, subscribe: () => () => undefined },
      apiFor: () => withApiTimeouts(api, host),
      log,
    },
  );
  await rotation.load();
  return rotation;
}
