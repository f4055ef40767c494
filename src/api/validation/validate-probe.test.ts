import { type Rejections, testRejections } from '../testing/validation-errors-of.ts';

const refused: Rejections = {
  'a probe that asks nothing': {
    change: { container: { livenessProbe: {} } },
    says: ['spec.containers[0].livenessProbe: Required value: must specify a handler type'],
  },
  'a probe that asks in two ways': {
    change: {
      container: {
        livenessProbe: { exec: { command: ['a'] }, httpGet: { port: 80 }, tcpSocket: { port: 80 }, grpc: { port: 80 } },
      },
    },
    says: [
      'spec.containers[0].livenessProbe.httpGet: Forbidden: may not specify more than 1 handler type',
      'spec.containers[0].livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type',
      'spec.containers[0].livenessProbe.grpc: Forbidden: may not specify more than 1 handler type',
    ],
  },
  'a command that is empty': {
    change: { container: { livenessProbe: { exec: {} } } },
    says: ['spec.containers[0].livenessProbe.exec.command: Required value'],
  },
  'an invalid port': {
    change: {
      container: {
        livenessProbe: { httpGet: { port: 0 } },
        readinessProbe: { tcpSocket: { port: 'Http' } },
        startupProbe: { grpc: { port: 70000 } },
      },
    },
    says: [
      'spec.containers[0].livenessProbe.httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive',
      'spec.containers[0].readinessProbe.tcpSocket.port: Invalid value: "Http": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
      'spec.containers[0].startupProbe.grpc.port: Invalid value: 70000: must be between 1 and 65535, inclusive',
    ],
  },
  'an unknown scheme and a bad header': {
    change: {
      container: {
        livenessProbe: { httpGet: { port: 80, scheme: 'FTP', httpHeaders: [{ name: 'X Y', value: 'z' }] } },
      },
    },
    says: [
      'spec.containers[0].livenessProbe.httpGet.scheme: Unsupported value: "FTP": supported values: "HTTP", "HTTPS"',
      "spec.containers[0].livenessProbe.httpGet.httpHeaders: Invalid value: \"X Y\": a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')",
    ],
  },
  'liveness that must succeed twice': {
    change: { container: { livenessProbe: { tcpSocket: { port: 80 }, successThreshold: 2 } } },
    says: ['spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1'],
  },
  'start-up that must succeed twice': {
    change: { container: { startupProbe: { tcpSocket: { port: 80 }, successThreshold: 2 } } },
    says: ['spec.containers[0].startupProbe.successThreshold: Invalid value: 2: must be 1'],
  },
  'negative numbers': {
    change: {
      container: {
        readinessProbe: {
          tcpSocket: { port: 80 },
          initialDelaySeconds: -1,
          timeoutSeconds: -2,
          periodSeconds: -3,
          successThreshold: -4,
          failureThreshold: -5,
        },
      },
    },
    says: [
      'spec.containers[0].readinessProbe.initialDelaySeconds: Invalid value: -1: must be greater than or equal to 0',
      'spec.containers[0].readinessProbe.timeoutSeconds: Invalid value: -2: must be greater than or equal to 0',
      'spec.containers[0].readinessProbe.periodSeconds: Invalid value: -3: must be greater than or equal to 0',
      'spec.containers[0].readinessProbe.successThreshold: Invalid value: -4: must be greater than or equal to 0',
      'spec.containers[0].readinessProbe.failureThreshold: Invalid value: -5: must be greater than or equal to 0',
    ],
  },
  'no grace after a failed probe': {
    change: { container: { livenessProbe: { tcpSocket: { port: 80 }, terminationGracePeriodSeconds: 0 } } },
    says: ['spec.containers[0].livenessProbe.terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0'],
  },
  'grace after failed readiness': {
    change: { container: { readinessProbe: { tcpSocket: { port: 80 }, terminationGracePeriodSeconds: 5 } } },
    says: [
      'spec.containers[0].readinessProbe.terminationGracePeriodSeconds: Invalid value: 5: must not be set for readinessProbes',
    ],
  },
  'a hook that does nothing': {
    change: { container: { lifecycle: { postStart: {} } } },
    says: ['spec.containers[0].lifecycle.postStart: Required value: must specify a handler type'],
  },
  'a sleep longer than the grace period': {
    change: { container: { lifecycle: { preStop: { sleep: { seconds: 31 } } } } },
    says: [
      'spec.containers[0].lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than terminationGracePeriodSeconds (30)',
    ],
  },
  'a hook with an empty path': {
    change: { container: { lifecycle: { preStop: { httpGet: { port: 'a b' } } } } },
    says: [
      'spec.containers[0].lifecycle.preStop.httpGet.port: Invalid value: "a b": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
    ],
  },
  'a stop signal without an operating system': {
    change: { container: { lifecycle: { stopSignal: 'SIGTERM' } } },
    says: [
      'spec.containers[0].lifecycle.stopSignal: Forbidden: may not be set for containers with empty `spec.os.name`',
    ],
  },
  'an unknown stop signal': {
    change: { spec: { os: { name: 'linux' } }, container: { lifecycle: { stopSignal: 'TERM' } } },
    says: [
      'spec.containers[0].lifecycle.stopSignal: Unsupported value: "TERM": supported values: "SIGABRT", "SIGALRM", "SIGBUS", "SIGCHLD", "SIGCLD", "SIGCONT", "SIGFPE", "SIGHUP", "SIGILL", "SIGINT", "SIGIO", "SIGIOT", "SIGKILL", "SIGPIPE", "SIGPOLL", "SIGPROF", "SIGPWR", "SIGQUIT", "SIGRTMAX", "SIGRTMAX-1", "SIGRTMAX-10", "SIGRTMAX-11", "SIGRTMAX-12", "SIGRTMAX-13", "SIGRTMAX-14", "SIGRTMAX-2", "SIGRTMAX-3", "SIGRTMAX-4", "SIGRTMAX-5", "SIGRTMAX-6", "SIGRTMAX-7", "SIGRTMAX-8", "SIGRTMAX-9", "SIGRTMIN", "SIGRTMIN+1", "SIGRTMIN+10", "SIGRTMIN+11", "SIGRTMIN+12", "SIGRTMIN+13", "SIGRTMIN+14", "SIGRTMIN+15", "SIGRTMIN+2", "SIGRTMIN+3", "SIGRTMIN+4", "SIGRTMIN+5", "SIGRTMIN+6", "SIGRTMIN+7", "SIGRTMIN+8", "SIGRTMIN+9", "SIGSEGV", "SIGSTKFLT", "SIGSTOP", "SIGSYS", "SIGTERM", "SIGTRAP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG", "SIGUSR1", "SIGUSR2", "SIGVTALRM", "SIGWINCH", "SIGXCPU", "SIGXFSZ"',
    ],
  },
};

testRejections(refused);
