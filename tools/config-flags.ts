/**
 * The meaning of each flag of compat/kubelet-flags.tsv, a line each: name, meaning, text for `--help`.
 *
 *   .field.path   sets that field of KubeletConfiguration
 *   =property     sets that property of KubeletFlags
 *   -             has no effect any more (cAdvisor, mounters, old storage drivers): accepted and ignored
 */
export const FLAG_MEANINGS = `
address | .address | IP address that the kubelet's server listens on
allowed-unsafe-sysctls | .allowedUnsafeSysctls | sysctls, or patterns ending in *, that pods may set although they are not safe
anonymous-auth | .authentication.anonymous.enabled | let requests without credentials in as system:anonymous
application-metrics-count-limit | - | limit of application metrics a container
authentication-token-webhook | .authentication.webhook.enabled | ask the API server who the bearer of a token is
authentication-token-webhook-cache-ttl | .authentication.webhook.cacheTTL | how long answers about tokens are remembered
authorization-mode | .authorization.mode | who decides about requests: AlwaysAllow or Webhook (the API server)
authorization-webhook-cache-authorized-ttl | .authorization.webhook.cacheAuthorizedTTL | how long a granted request is remembered
authorization-webhook-cache-unauthorized-ttl | .authorization.webhook.cacheUnauthorizedTTL | how long a refused request is remembered
boot-id-file | - | files that may hold the boot id
bootstrap-kubeconfig | =bootstrapKubeconfig | kubeconfig with which the first client certificate is requested when --kubeconfig does not exist yet
cert-dir | =certDir | folder of the kubelet's own certificates
cgroup-driver | .cgroupDriver | who manages cgroups: cgroupfs or systemd
cgroup-root | .cgroupRoot | cgroup below which the cgroups of pods are made
cgroups-per-qos | .cgroupsPerQOS | make a cgroup for each quality-of-service class and each pod
client-ca-file | .authentication.x509.clientCAFile | certificate authorities that client certificates are checked against
cloud-provider | =cloudProvider | "external" when a cloud controller initialises the node, empty otherwise
cluster-dns | .clusterDNS | addresses of the cluster's DNS servers
cluster-domain | .clusterDomain | DNS domain of the cluster
config | =config | file with the KubeletConfiguration; flags win over it
config-dir | =configDir | folder of drop-ins (*.conf, in lexical order) that win over --config
container-hints | - | file of hints about containers
container-log-max-files | .containerLogMaxFiles | log files kept for a container, at least 2
container-log-max-size | .containerLogMaxSize | size at which a container's log is rotated
container-runtime-endpoint | .containerRuntimeEndpoint | socket of the container runtime
containerd | - | socket of containerd for container statistics
containerd-namespace | - | namespace of containerd for container statistics
contention-profiling | .enableContentionProfiling | profile lock contention while profiling is on
cpu-cfs-quota | .cpuCFSQuota | enforce CPU limits by CFS quota
cpu-cfs-quota-period | .cpuCFSQuotaPeriod | CFS quota period, 1ms to 1s
cpu-manager-policy | .cpuManagerPolicy | none or static
cpu-manager-policy-options | .cpuManagerPolicyOptions | an option of the CPU manager's policy; give the flag once for each
cpu-manager-reconcile-period | .cpuManagerReconcilePeriod | how often the CPU sets of containers are compared with what they should be
enable-controller-attach-detach | .enableControllerAttachDetach | leave attaching of volumes to the controller
enable-debugging-handlers | .enableDebuggingHandlers | serve logs, exec, attach and port-forward
enable-load-reader | - | read the CPU load of containers
enable-server | .enableServer | run the kubelet's server
enforce-node-allocatable | .enforceNodeAllocatable | what is held to node allocatable: none, pods, system-reserved, kube-reserved and their -compressible forms
event-burst | .eventBurst | events that may be sent at once beyond --event-qps
event-qps | .eventRecordQPS | events a second
event-storage-age-limit | - | how long container events are kept
event-storage-event-limit | - | how many container events are kept
eviction-hard | .evictionHard | thresholds at which pods are evicted at once, such as memory.available<1Gi
eviction-max-pod-grace-period | .evictionMaxPodGracePeriod | longest grace period, in seconds, of pods evicted by a soft threshold
eviction-minimum-reclaim | .evictionMinimumReclaim | what an eviction reclaims at least, such as imagefs.available=2Gi
eviction-pressure-transition-period | .evictionPressureTransitionPeriod | how long a pressure condition outlasts the pressure
eviction-soft | .evictionSoft | thresholds at which pods are evicted after a grace period
eviction-soft-grace-period | .evictionSoftGracePeriod | how long each soft threshold must hold, such as memory.available=1m30s
exit-on-lock-contention | =exitOnLockContention | exit when another process opens --lock-file
experimental-allocatable-ignore-eviction | =ignoreEvictionInAllocatable | leave hard eviction thresholds out of node allocatable
experimental-mounter-path | - | program that mounts
fail-cgroupv1 | .failCgroupV1 | refuse to start on a machine with cgroup v1
fail-swap-on | .failSwapOn | refuse to start while swap is on
feature-gates | .featureGates | features to turn on or off, such as MemoryQoS=true
file-check-frequency | .fileCheckFrequency | how often the folder of static pods is looked through
global-housekeeping-interval | - | interval of global statistics
hairpin-mode | .hairpinMode | promiscuous-bridge, hairpin-veth or none
healthz-bind-address | .healthzBindAddress | IP address of the health endpoint
healthz-port | .healthzPort | port of the health endpoint, 0 for none
help | =help | show this text
hostname-override | =hostnameOverride | name of the node instead of the machine's host name
housekeeping-interval | - | how often statistics of containers are taken
http-check-frequency | .httpCheckFrequency | how often --manifest-url is read
image-credential-provider-bin-dir | =imageCredentialProviderBinDir | folder of the credential provider plugins
image-credential-provider-config | =imageCredentialProviderConfig | configuration of the credential provider plugins: a file or a folder
image-gc-high-threshold | .imageGCHighThresholdPercent | percentage of disk usage above which images are removed
image-gc-low-threshold | .imageGCLowThresholdPercent | percentage of disk usage down to which images are removed
image-service-endpoint | .imageServiceEndpoint | socket of the image service, when it is not the runtime's
kernel-memcg-notification | .kernelMemcgNotification | use kernel notifications for memory thresholds
kube-api-burst | .kubeAPIBurst | requests to the API server at once beyond --kube-api-qps
kube-api-content-type | .contentType | content type of requests to the API server
kube-api-qps | .kubeAPIQPS | requests a second to the API server
kube-reserved | .kubeReserved | resources kept for Kubernetes' own daemons, such as cpu=200m,memory=500Mi
kube-reserved-cgroup | .kubeReservedCgroup | cgroup of Kubernetes' own daemons
kubeconfig | =kubeconfig | how to reach the API server; without it the kubelet stands alone
kubelet-cgroups | .kubeletCgroups | cgroup that the kubelet runs in
local-storage-capacity-isolation | .localStorageCapacityIsolation | hold pods to their limits of local storage
lock-file | =lockFile | file by which kubelets of one machine exclude each other
log-cadvisor-usage | - | log the usage of the statistics collector
log-flush-frequency | .logging.flushFrequency | longest time between flushes of the log
log-json-info-buffer-size | .logging.options.json.infoBufferSize | buffer of info messages in JSON logs with split streams
log-json-split-stream | .logging.options.json.splitStream | JSON logs: errors to stderr, the rest to stdout
log-text-info-buffer-size | .logging.options.text.infoBufferSize | buffer of info messages in text logs with split streams
log-text-split-stream | .logging.options.text.splitStream | text logs: errors to stderr, the rest to stdout
logging-format | .logging.format | text or json
machine-id-file | - | files that may hold the machine id
make-iptables-util-chains | .makeIPTablesUtilChains | keep the iptables chains that mark where other programs add rules
manifest-url | .staticPodURL | address of further pods to run
manifest-url-header | .staticPodURLHeader | header of requests to --manifest-url, as name:value
max-open-files | .maxOpenFiles | files that the kubelet may hold open
max-pods | .maxPods | pods that may run on the node
maximum-dead-containers | =maximumDeadContainers | dead containers kept on the node, negative for no limit
maximum-dead-containers-per-container | =maximumDeadContainersPerContainer | dead instances kept of each container
memory-manager-policy | .memoryManagerPolicy | None or Static
minimum-container-ttl-duration | =minimumContainerTtlMs | age from which a dead container may be removed
minimum-image-ttl-duration | .imageMinimumGCAge | age from which an unused image may be removed
node-ip | =nodeIp | IP address of the node, or an IPv4 and an IPv6 one
node-labels | =nodeLabels | labels that the node registers with
node-status-max-images | .nodeStatusMaxImages | images listed in the node's status, -1 for all
node-status-update-frequency | .nodeStatusUpdateFrequency | how often the node's status is computed
oom-score-adj | .oomScoreAdj | OOM score of the kubelet's process, -1000 to 1000
pod-cidr | .podCIDR | addresses of pods while the kubelet stands alone
pod-manifest-path | .staticPodPath | folder, or file, of static pods
pod-max-pids | .podPidsLimit | processes a pod may have, -1 for the node's limit
pods-per-core | .podsPerCore | pods that may run for each core, 0 for no limit
port | .port | port of the kubelet's server
protect-kernel-defaults | .protectKernelDefaults | refuse to start when kernel settings are not the expected ones
provider-id | .providerID | the node's id in the cloud's database of machines
qos-reserved | .qosReserved | share of a resource reserved for a quality-of-service class, such as memory=50%
read-only-port | .readOnlyPort | port that serves without authentication, 0 for none
register-node | .registerNode | register the node with the API server
register-with-taints | .registerWithTaints | taints that the node registers with, as key=value:effect
registry-burst | .registryBurst | pulls at once beyond --registry-qps
registry-qps | .registryPullQPS | pulls a second, 0 for no limit
reserved-cpus | .reservedSystemCPUs | CPUs kept for the system, such as 0-1
reserved-memory | .reservedMemory | memory kept on NUMA nodes, such as 0:memory=1Gi
resolv-conf | .resolvConf | resolver configuration that pods inherit
root-dir | =rootDir | folder of the kubelet's own files and of pods' volumes
rotate-certificates | .rotateCertificates | renew the client certificate before it expires
rotate-server-certificates | .serverTLSBootstrap | request the server's certificate from the API server and renew it
runonce | .runOnce | no longer supported: start static pods and exit
runtime-cgroups | - | cgroup that the container runtime runs in
runtime-request-timeout | .runtimeRequestTimeout | time limit of requests to the runtime, other than pull, logs, exec and attach
seccomp-default | .seccompDefault | give pods the runtime's seccomp profile by default
serialize-image-pulls | .serializeImagePulls | pull one image at a time
storage-driver-buffer-duration | - | buffering of a statistics store
storage-driver-db | - | database of a statistics store
storage-driver-host | - | host of a statistics store
storage-driver-password | - | password of a statistics store
storage-driver-secure | - | TLS to a statistics store
storage-driver-table | - | table of a statistics store
storage-driver-user | - | user of a statistics store
streaming-connection-idle-timeout | .streamingConnectionIdleTimeout | when an idle exec, attach or port-forward is closed
sync-frequency | .syncFrequency | longest time between two looks at a pod
system-cgroups | .systemCgroups | cgroup for processes that are in none
system-reserved | .systemReserved | resources kept for the system, such as cpu=200m,memory=500Mi
system-reserved-cgroup | .systemReservedCgroup | cgroup of the system's daemons
tls-cert-file | .tlsCertFile | certificate of the kubelet's server
tls-cipher-suites | .tlsCipherSuites | cipher suites of the kubelet's server
tls-min-version | .tlsMinVersion | lowest TLS version of the kubelet's server
tls-private-key-file | .tlsPrivateKeyFile | key of --tls-cert-file
topology-manager-policy | .topologyManagerPolicy | none, best-effort, restricted or single-numa-node
topology-manager-policy-options | .topologyManagerPolicyOptions | options of the topology manager's policy
topology-manager-scope | .topologyManagerScope | container or pod
v | .logging.verbosity | how much is logged; 0 means as much as 2
version | =version | show the version and exit; raw shows all there is to it
vmodule | .logging.vmodule | verbosity of single modules of the log, as pattern=N
volume-plugin-dir | .volumePluginDir | folder of FlexVolume plugins
volume-stats-agg-period | .volumeStatsAggPeriod | how often the disk usage of volumes is measured, negative for never
`;
