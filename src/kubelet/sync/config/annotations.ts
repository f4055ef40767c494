import type { Container, ContainerPort, LifecycleHandler, Pod } from '../../../api/generated/core-v1.ts';
import { goJson } from '../../../base/go/go-json.ts';
import { containerHash } from './container-hash.ts';

type Texts = Record<string, string>;

function podIdentityLabels({ metadata }: Pod): Texts {
  return {
    'io.kubernetes.pod.name': metadata.name,
    'io.kubernetes.pod.namespace': metadata.namespace,
    'io.kubernetes.pod.uid': metadata.uid,
  };
}

/** The pod's labels and kubelet's identity labels; the latter take precedence. */
export function sandboxLabels(pod: Pod): Texts {
  return { ...pod.metadata.labels, ...podIdentityLabels(pod) };
}

export function containerLabels(pod: Pod, { name }: Container): Texts {
  return { ...podIdentityLabels(pod), 'io.kubernetes.container.name': name };
}

/** Data to stop and report a container when its spec is no longer known. */
export function containerAnnotations(pod: Pod, container: Container, restartCount: number): Texts {
  const annotations: Texts = {
    'io.kubernetes.container.hash': containerHash(container),
    'io.kubernetes.container.restartCount': String(restartCount),
    'io.kubernetes.container.terminationMessagePath': container.terminationMessagePath ?? '',
    'io.kubernetes.container.terminationMessagePolicy': container.terminationMessagePolicy ?? '',
  };
  const { deletionGracePeriodSeconds } = pod.metadata;
  if (deletionGracePeriodSeconds !== undefined) {
    annotations['io.kubernetes.pod.deletionGracePeriod'] = String(deletionGracePeriodSeconds);
  }
  const { terminationGracePeriodSeconds } = pod.spec;
  if (terminationGracePeriodSeconds !== undefined) {
    annotations['io.kubernetes.pod.terminationGracePeriod'] = String(terminationGracePeriodSeconds);
  }
  const preStop = container.lifecycle?.preStop;
  if (preStop) annotations['io.kubernetes.container.preStopHandler'] = goJson(handlerInGoOrder(preStop));
  if (container.ports && container.ports.length > 0) {
    annotations['io.kubernetes.container.ports'] = goJson(container.ports.map(portInGoOrder));
  }
  return annotations;
}

// Both values are compared as text: fields have the order of the API's Go types, and empty fields are omitted where Go
// omits them.

function portInGoOrder({ name, hostPort, containerPort, protocol, hostIP }: ContainerPort) {
  return {
    name: name || undefined,
    hostPort: hostPort || undefined,
    containerPort,
    protocol: protocol || undefined,
    hostIP: hostIP || undefined,
  };
}

function handlerInGoOrder({ exec, httpGet, tcpSocket, sleep }: LifecycleHandler) {
  return {
    exec: exec && { command: exec.command?.length ? exec.command : undefined },
    httpGet: httpGet && {
      path: httpGet.path || undefined,
      port: httpGet.port,
      host: httpGet.host || undefined,
      scheme: httpGet.scheme || undefined,
      httpHeaders: httpGet.httpHeaders?.length
        ? httpGet.httpHeaders.map(({ name, value }) => ({ name, value }))
        : undefined,
    },
    tcpSocket: tcpSocket && { port: tcpSocket.port, host: tcpSocket.host || undefined },
    sleep: sleep && { seconds: sleep.seconds },
  };
}
