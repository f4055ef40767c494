const KINDS: Readonly<Record<string, string>> = { configmap: 'ConfigMap', secret: 'Secret' };

/** Why a container or a volume cannot be made. */
export interface ConfigTrouble {
  /** Completes `container web …` and `volume "v" …`. */
  readonly text: string;
  /** What would put it right, as a sentence. */
  readonly help?: string;
}

/** In plain words; `undefined` for what the error itself says well enough. */
export function configTrouble(message: string): ConfigTrouble | undefined {
  const lack = lackText(message);
  return lack === undefined ? (userTrouble(message) ?? fileTrouble(message)) : { text: lack };
}

/** What is not there, or not yet. */
function lackText(message: string): string | undefined {
  const missing = /^(configmap|secret) ("[^"]*") not found$/.exec(message);
  if (missing) return `needs ${KINDS[missing[1] ?? '']} ${missing[2]}, which does not exist`;
  const key = /^couldn't find key (\S+) in (ConfigMap|Secret) (\S+)$/.exec(message);
  if (key) return `needs key "${key[1]}" of ${key[2]} ${key[3]}, which does not have it`;
  const unread = /^failed to sync (configmap|secret) cache: /.exec(message);
  if (unread) return `needs a ${KINDS[unread[1] ?? '']}, and the API server has not answered yet`;
  if (message.startsWith('services have not yet been read')) {
    return 'is to be told of services, and the API server has not answered yet';
  }
  if (message === "couldn't parse env file") {
    return "takes variables from a file that is missing, or has other lines than NAME='value'";
  }
  return undefined;
}

/** A container that must not be root, and would be or might be. */
function userTrouble(message: string): ConfigTrouble | undefined {
  const must = 'must not run as root (runAsNonRoot), and';
  if (message.startsWith("container's runAsUser breaks non-root policy")) return { text: `${must} its runAsUser is 0` };
  if (message.startsWith('container has runAsNonRoot and image will run as root')) {
    const help = 'Set its runAsUser to another user than 0, or take an image that names one.';
    return { text: `${must} its image does`, help };
  }
  const user = /^container has runAsNonRoot and image has non-numeric user \((.*?)\)/.exec(message)?.[1];
  if (user === undefined) return undefined;
  return { text: `${must} the user "${user}" of its image may be root`, help: 'Set its runAsUser to their number.' };
}

function fileTrouble(message: string): ConfigTrouble | undefined {
  const volume = /^failed to (?:prepare subPath|create subPath directory) for volumeMount ("[^"]*")/.exec(message)?.[1];
  if (volume !== undefined) {
    const help = 'Its path has a file or a link out of the volume in it, or cannot be written.';
    return { text: `cannot have its subPath of volume ${volume}`, help };
  }
  const profile = /cannot load seccomp profile ("[^"]*"): .*no such file or directory$/.exec(message)?.[1];
  return profile === undefined ? undefined : { text: `needs the seccomp profile ${profile}, which does not exist` };
}
