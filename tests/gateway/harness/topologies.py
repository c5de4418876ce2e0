"""A cluster of three and a master with replica and three sentinels, all on loopback."""

from .limits import wait_until

SLOTS = 16384


class Cluster:
    def __init__(self, make_store):
        self.nodes = [make_store("--cluster-enabled", "yes", "--cluster-node-timeout", "5000") for _ in range(3)]
        for index, node in enumerate(self.nodes):
            node.id = node.command("CLUSTER", "MYID").decode()
            node.command("CLUSTER", "ADDSLOTS", *range(index * SLOTS // 3, (index + 1) * SLOTS // 3))
            node.command("CLUSTER", "SET-CONFIG-EPOCH", index + 1)
            if index:
                node.command("CLUSTER", "MEET", "127.0.0.1", self.nodes[0].port)
        wait_until(lambda: all(self._whole(node) for node in self.nodes), 30, message="no cluster")

    @staticmethod
    def _whole(node):
        info = node.command("CLUSTER", "INFO").decode()
        return "cluster_state:ok" in info and "cluster_known_nodes:3" in info

    @property
    def urls(self):
        return " ".join(node.url for node in self.nodes)

    def slot_of(self, room):
        return self.nodes[0].command("CLUSTER", "KEYSLOT", f"fairway:{{{room}}}:state")

    def owner_of(self, slot):
        return next(index for index, node in enumerate(self.nodes) if node.command("CLUSTER", "COUNTKEYSINSLOT", slot) > 0)

    def move(self, slot, between=lambda: None):
        """To the next node, key by key; between() is called before each step."""
        index = self.owner_of(slot)
        source, target = self.nodes[index], self.nodes[(index + 1) % 3]
        target.command("CLUSTER", "SETSLOT", slot, "IMPORTING", source.id)
        between()
        source.command("CLUSTER", "SETSLOT", slot, "MIGRATING", target.id)
        between()
        while keys := source.command("CLUSTER", "GETKEYSINSLOT", slot, 1):
            source.command("MIGRATE", "127.0.0.1", target.port, keys[0], 0, 5000)
            between()
        for node in (target, source):
            node.command("CLUSTER", "SETSLOT", slot, "NODE", target.id)
            between()


class Watched:
    """master, replica, sentinels; the sentinels know the master as `shop`."""

    def __init__(self, make_store):
        self.master = make_store("--repl-diskless-sync-delay", "0")
        self.replica = make_store("--repl-diskless-sync-delay", "0", "--replicaof", "127.0.0.1", self.master.port)
        wait_until(lambda: self.replica.info("master_link_status", "replication") == "up", 30, message="no replication")
        self.sentinels = [make_store(sentinel=True) for _ in range(3)]
        for sentinel in self.sentinels:
            sentinel.command("SENTINEL", "MONITOR", "shop", "127.0.0.1", self.master.port, 2)
            sentinel.command("SENTINEL", "SET", "shop", "down-after-milliseconds", 2000)
            sentinel.command("SENTINEL", "SET", "shop", "failover-timeout", 5000)
        wait_until(lambda: all(self._sees_all(sentinel) for sentinel in self.sentinels), 30, message="the sentinels do not see each other")

    @staticmethod
    def _sees_all(sentinel):
        words = [word.decode() for word in sentinel.command("SENTINEL", "MASTER", "shop")]
        fields = dict(zip(words[::2], words[1::2]))
        return fields["num-slaves"] == "1" and fields["num-other-sentinels"] == "2"

    @property
    def urls(self):
        return " ".join(sentinel.url for sentinel in self.sentinels) + " sentinel=shop"

    def master_port(self):
        return int(self.sentinels[0].command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "shop")[1])


