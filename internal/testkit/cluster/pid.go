package cluster

// PID returns the process of HBase: ZooKeeper, master and region server. Restart changes it.
func (c *Cluster) PID() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.jvm.cmd.Process.Pid
}

// PID returns the TSD's process.
func (t *TSD) PID() int { return t.jvm.cmd.Process.Pid }
