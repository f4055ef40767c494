/** How a server is reached and by whom: what is left of a kubeconfig once its context is chosen. Paths are absolute. */
export interface ClientConfig {
  readonly cluster: ClusterAddress;
  readonly user: ClientUser;
}

export interface ClusterAddress {
  /** `https://10.0.0.1:6443`, with a path where the API is not at the root; no slash at the end. */
  readonly server: string;
  /** Absent: whom the machine trusts. */
  readonly authority?: Pem;
  readonly insecureSkipVerify: boolean;
  /** Whose certificate the server shows; absent: its host's. */
  readonly tlsServerName?: string;
  /** `http://` or `https://` */
  readonly proxy?: string;
}

/** In the configuration, or in a file of its own, which may change. */
export type Pem = { readonly pem: string } | { readonly file: string };

/** All that is given is shown; a plugin is asked only where nothing is. */
export interface ClientUser {
  readonly certificate?: { readonly certificate: Pem; readonly key: Pem };
  readonly token?: { readonly token: string } | { readonly file: string };
  readonly password?: { readonly username: string; readonly password: string };
  readonly plugin?: ExecPlugin;
}

/** A program that says who we are (`client.authentication.k8s.io`). */
export interface ExecPlugin {
  readonly apiVersion: ExecApiVersion;
  /** A path, or a name to be looked for. */
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly installHint: string;
  /** What it is told of the cluster; absent: nothing. */
  readonly cluster?: Readonly<Record<string, unknown>>;
}

export type ExecApiVersion = 'client.authentication.k8s.io/v1' | 'client.authentication.k8s.io/v1beta1';
