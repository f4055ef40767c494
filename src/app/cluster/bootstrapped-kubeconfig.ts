import { dirname } from 'node:path/posix';
import { stringify } from 'yaml';
import { errorText } from '../../base/error-text.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { ClusterAddress, Pem } from '../../kubelet/api-client/client-config.ts';
import { CertificateError, certificatesIn, loadCertificate } from '../../kubelet/certificates/held-certificate.ts';
import { readKubeconfig } from './api-server-client.ts';
import { KubeconfigError } from './kubeconfig-document.ts';

export interface KubeconfigDeps {
  readonly fs: FileSystem;
  readonly clock: Clock;
}

/**
 * Returns why a kubeconfig must be replaced, by kubelet's rule: it needs a client certificate without an expired part in
 * its chain. Returns `undefined` if it is usable.
 */
export async function unusableReason(path: string, { fs, clock }: KubeconfigDeps): Promise<string | undefined> {
  if (!(await fs.stat(path))) return 'it does not exist';
  try {
    const { certificate } = (await readKubeconfig(path, fs)).user;
    if (!certificate) return 'it has no client certificate';
    const text = async (pem: Pem): Promise<string> => ('pem' in pem ? pem.pem : fs.readText(pem.file));
    const chain = await text(certificate.certificate);
    loadCertificate(chain, await text(certificate.key));
    const isExpired = certificatesIn(chain).some(({ validUntilMs }) => clock.now() > validUntilMs);
    return isExpired ? 'part of its client certificate is expired' : undefined;
  } catch (error) {
    if (error instanceof KubeconfigError || error instanceof CertificateError) return errorText(error);
    throw error;
  }
}

/** Writes a kubeconfig for the same server with the certificate and the key in `pemPath`, as kubelet does. */
export async function writeBootstrappedKubeconfig(
  path: string,
  { cluster, pemPath }: { readonly cluster: ClusterAddress; readonly pemPath: string },
  fs: FileSystem,
): Promise<void> {
  const { server, authority, insecureSkipVerify, tlsServerName, proxy } = cluster;
  const trusted = authority && {
    ...('file' in authority
      ? { 'certificate-authority': authority.file }
      : { 'certificate-authority-data': Buffer.from(authority.pem).toString('base64') }),
  };
  const config = {
    apiVersion: 'v1',
    clusters: [
      {
        cluster: {
          ...trusted,
          ...(insecureSkipVerify && { 'insecure-skip-tls-verify': true }),
          ...(proxy !== undefined && { 'proxy-url': proxy }),
          server,
          ...(tlsServerName !== undefined && { 'tls-server-name': tlsServerName }),
        },
        name: 'default-cluster',
      },
    ],
    contexts: [
      { context: { cluster: 'default-cluster', namespace: 'default', user: 'default-auth' }, name: 'default-context' },
    ],
    'current-context': 'default-context',
    kind: 'Config',
    users: [{ name: 'default-auth', user: { 'client-certificate': pemPath, 'client-key': pemPath } }],
  };
  await fs.makeDirectory(dirname(path), 0o755);
  await fs.writeAtomic(path, stringify(config, { lineWidth: 0, indentSeq: false }), { mode: 0o600 });
}
