"""NLVR's own files (Suhr et al. 2017): its pictures as boards, and the flip-it sets built again from them."""
