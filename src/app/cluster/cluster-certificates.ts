import type { NodeAddress } from '../../api/generated/core-v1.ts';
import type { Log } from '../../base/log.ts';
import type { Host } from '../../host/host.ts';
import type { ApiServer } from '../../kubelet/api-client/api-server.ts';
import { withApiTimeouts } from '../../kubelet/api-client/api-timeouts.ts';
import type { ClientConfig, ClientUser } from '../../kubelet/api-client/client-config.ts';
import { createCredentials } from '../../kubelet/api-client/credentials.ts';
import { createHttpApiServer, type HttpApiServer } from '../../kubelet/api-client/http-api-server.ts';
import { bootstrapCertificate } from '../../kubelet/certificates/bootstrap-certificate.ts';
import { CertificateRotation, type RotationDeps } from '../../kubelet/certificates/certificate-rotation.ts';
import { CertificateStore } from '../../kubelet/certificates/certificate-store.ts';
import { nodeSubject } from '../../kubelet/certificates/certificate-subject.ts';
import { FileServingCertificate } from '../../kubelet/certificates/file-serving-certificate.ts';
import { servingSubject } from '../../kubelet/certificates/node-certificates.ts';
import { CLIENT_SIGNER, SERVING_SIGNER } from '../../kubelet/certificates/request-certificate.ts';
import { rotatingCredentials } from '../../kubelet/certificates/rotating-credentials.ts';
import { ensureSelfSignedFiles } from '../../kubelet/certificates/self-signed-files.ts';
import type { KeyPair, ServingCertificate } from '../../kubelet/certificates/serving-certificate.ts';
import type { KubeletSettings } from '../config/load-config.ts';
import {
  type ClientHost,
  type ClientOptions,
  connectApiServer,
  loadClientConfig,
  readKubeconfig,
} from './api-server-client.ts';
import { unusableReason, writeBootstrappedKubeconfig } from './bootstrapped-kubeconfig.ts';

export type CertificateHost = ClientHost & Pick<Host, 'signingKeys'> & { readonly log: Log };

export interface ClientCertificateSettings {
  readonly nodeName: string;
  readonly certDir: string;
  readonly kubeconfig: string;
  readonly bootstrapKubeconfig: string | undefined;
  readonly rotateCertificates: boolean;
}

export interface ServingCertificateSettings {
  readonly nodeName: string;
  readonly certDir: string;
  readonly serverTlsBootstrap: boolean;
  /** Configured files, which the agent does not manage. */
  readonly files: { readonly certificateFile: string; readonly keyFile: string } | undefined;
}

/** The API server, authenticated as the node. */
export interface NodeApiClient {
  readonly apiServer: HttpApiServer;
  /** Rotates the client certificate until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  close(): void;
}

/** A serving certificate that is kept valid while `run` runs. */
export interface ManagedServingCertificate extends ServingCertificate {
  run(signal: AbortSignal): Promise<void>;
}

export interface NodeAddresses {
  /** Empty until the addresses are known. */
  current(): readonly NodeAddress[];
  subscribe(listener: () => void): () => void;
}

export function clientCertificateSettings(
  { flags, config, nodeName }: KubeletSettings,
  kubeconfig: string,
): ClientCertificateSettings {
  const { certDir, bootstrapKubeconfig } = flags;
  const { rotateCertificates = false } = config;
  return { nodeName, certDir, kubeconfig, bootstrapKubeconfig, rotateCertificates };
}

export function servingCertificateSettings({ flags, config, nodeName }: KubeletSettings): ServingCertificateSettings {
  const { tlsCertFile: certificateFile = '', tlsPrivateKeyFile: keyFile = '', serverTLSBootstrap = false } = config;
  return {
    nodeName,
    certDir: flags.certDir,
    serverTlsBootstrap: serverTLSBootstrap,
    files: certificateFile === '' && keyFile === '' ? undefined : { certificateFile, keyFile },
  };
}

/**
 * Connects as the node. Without rotation it waits for the first certificate, as kubelet does. With rotation `run` gets it,
 * and requests before that are anonymous. Rejects with a `KubeconfigError`.
 */
export async function connectAsNode(
  settings: ClientCertificateSettings,
  options: ClientOptions,
  host: CertificateHost,
  signal: AbortSignal,
): Promise<NodeApiClient> {
  if (settings.rotateCertificates) return rotatingClient(settings, options, host);
  if (settings.bootstrapKubeconfig !== undefined) {
    await bootstrap(settings, settings.bootstrapKubeconfig, options, host, signal);
  }
  const apiServer = await connectApiServer(settings.kubeconfig, options, host);
  return { apiServer, run: async () => undefined, close: () => apiServer[Symbol.dispose]() };
}

async function bootstrap(
  { kubeconfig, certDir: folder, nodeName }: ClientCertificateSettings,
  bootstrapKubeconfig: string,
  options: ClientOptions,
  host: CertificateHost,
  signal: AbortSignal,
): Promise<void> {
  const reason = await unusableReason(kubeconfig, host);
  if (reason === undefined) return;
  host.log.info('requesting the first certificate of this node', { kubeconfig, reason });
  const { cluster } = await readKubeconfig(bootstrapKubeconfig, host.fs);
  using server = await connectApiServer(bootstrapKubeconfig, options, host);
  const store = new CertificateStore({ prefix: 'kubelet-client', folder }, host);
  const deps = { ...host, api: withApiTimeouts(server, host), store, keys: host.signingKeys };
  await bootstrapCertificate({ nodeName, folder }, deps, signal);
  await writeBootstrappedKubeconfig(kubeconfig, { cluster, pemPath: store.currentPath }, host.fs);
}

async function rotatingClient(
  settings: ClientCertificateSettings,
  options: ClientOptions,
  host: CertificateHost,
): Promise<NodeApiClient> {
  const { certDir: folder, nodeName, kubeconfig, bootstrapKubeconfig } = settings;
  const { cluster, user } = await nodeClientConfig(settings, options, host);
  const subject = nodeSubject(nodeName);
  const { given, first } = configuredKeyPair(user);
  const store = new CertificateStore({ prefix: 'kubelet-client', folder, ...(given && { given }) }, host);
  let bootstrapConnection: HttpApiServer | undefined;
  /** Signs the first certificate. */
  const bootstrapServer = async (): Promise<HttpApiServer> => {
    bootstrapConnection ??= await connectApiServer(bootstrapKubeconfig ?? kubeconfig, options, host);
    return bootstrapConnection;
  };
  const apiOf: RotationDeps['apiFor'] = async (held) =>
    withApiTimeouts(held ? apiServer : await bootstrapServer(), host);
  const wanted = { current: () => subject, subscribe: () => () => undefined };
  const rotation = new CertificateRotation(
    { signerName: CLIENT_SIGNER, usages: ['digital signature', 'client auth'] },
    { ...host, store, wanted, apiFor: apiOf, keys: host.signingKeys },
  );
  await rotation.load(first);
  const trust = createCredentials({ cluster, user: {} }, { ...host, environment: options.environment });
  const credentials = rotatingCredentials(trust, rotation);
  const apiServer = createHttpApiServer({ cluster, user: {} }, { ...host, ...options, credentials });
  const close = (): void => {
    for (const each of [apiServer, bootstrapConnection]) each?.[Symbol.dispose]();
  };
  return { apiServer, run: (signal) => rotation.run(signal), close };
}

/** Reads `--kubeconfig`; writes it from the bootstrap kubeconfig if it is unusable. */
async function nodeClientConfig(
  { kubeconfig, bootstrapKubeconfig, certDir: folder }: ClientCertificateSettings,
  { environment }: ClientOptions,
  host: CertificateHost,
): Promise<ClientConfig> {
  const { fs, log } = host;
  const reason = bootstrapKubeconfig === undefined ? undefined : await unusableReason(kubeconfig, host);
  if (bootstrapKubeconfig === undefined || reason === undefined) return loadClientConfig(kubeconfig, environment, fs);
  log.info('requesting the first certificate of this node', { kubeconfig, reason });
  const { cluster } = await readKubeconfig(bootstrapKubeconfig, fs);
  const { currentPath: pemPath } = new CertificateStore({ prefix: 'kubelet-client', folder }, host);
  await writeBootstrappedKubeconfig(kubeconfig, { cluster, pemPath }, fs);
  return { ...(await loadClientConfig(bootstrapKubeconfig, environment, fs)), user: {} };
}

/** Files of the kubeconfig are used until there is a rotated certificate; inline data is rotated soon. */
function configuredKeyPair({ certificate: pair }: ClientUser): {
  readonly given?: { readonly certificateFile: string; readonly keyFile: string };
  readonly first?: KeyPair;
} {
  if (!pair) return {};
  const { certificate, key } = pair;
  if ('pem' in certificate && 'pem' in key) return { first: { certificate: certificate.pem, key: key.pem } };
  if ('file' in certificate && 'file' in key) {
    return { given: { certificateFile: certificate.file, keyFile: key.file } };
  }
  return {};
}

export interface ServingDeps extends CertificateHost {
  /** Signs the certificate; `undefined`: it is self-signed. */
  readonly api: ApiServer | undefined;
  readonly addresses: NodeAddresses;
}

/** Opens a requested, configured or self-signed certificate. Rejects with a `CertificateError` or a `FileSystemError`. */
export async function openServingCertificate(
  settings: ServingCertificateSettings,
  deps: ServingDeps,
): Promise<ManagedServingCertificate> {
  const { nodeName, certDir: folder, files } = settings;
  if (settings.serverTlsBootstrap && deps.api) return requestedServing(settings, deps, deps.api);
  const own = { folder, host: nodeName, ipAddresses: [] };
  const served = new FileServingCertificate(
    files ?? (await ensureSelfSignedFiles(own, { ...deps, keys: deps.signingKeys })),
    deps,
  );
  await served.load();
  return served;
}

async function requestedServing(
  { nodeName, certDir: folder, files }: ServingCertificateSettings,
  deps: ServingDeps,
  server: ApiServer,
): Promise<ManagedServingCertificate> {
  const { addresses } = deps;
  const api = withApiTimeouts(server, deps);
  const store = new CertificateStore({ prefix: 'kubelet-server', folder, ...(files && { given: files }) }, deps);
  const wanted = {
    current: () => servingSubject(nodeName, addresses.current()),
    subscribe: (listener: () => void) => addresses.subscribe(listener),
  };
  const rotation = new CertificateRotation(
    { signerName: SERVING_SIGNER, usages: ['digital signature', 'server auth'] },
    { ...deps, store, wanted, apiFor: () => api, keys: deps.signingKeys },
  );
  await rotation.load();
  return rotation;
}
